/** HTTP on a port. */
import type { Server } from "node:http";
import type { Server as TlsServer } from "node:https";
import { setTimeout as wait } from "node:timers/promises";
import type { Listening } from "@chimera/http-server/node";
import type { Person } from "@chimera/session";
import type { Invocation } from "../command/command.js";
import { isUsageError, UsageError } from "../command/usage-error.js";
import type { RunningCore } from "../compose.js";
import { isHostError } from "../errors.js";
import type { Log } from "../log/log.js";
import { resolvePaths } from "../paths.js";
import { type AcpPeer, envName, type Profile, type StartedExtension } from "../profile.js";
import { type HttpAccess, isLoopback, makeToken } from "./http-access.js";
import type { ServeSettings } from "./settings.js";

export { makeToken, readHttpAccess, rereadAccess } from "./http-access.js";

interface HttpServing extends Listening {
  readonly url: string;
  /** Begins no turn any more and resolves when those that run have ended, or after so many milliseconds. */
  drain(ms: number): Promise<void>;
  /** Takes another token and certificate, and reads the list of people again. */
  reload(access: Pick<HttpAccess, "authToken" | "tls">): Promise<void>;
}

/** What is served, and how. */
export interface HttpParts {
  readonly settings: ServeSettings;
  readonly access: HttpAccess;
  readonly core: () => Promise<RunningCore>;
  readonly extensions: readonly StartedExtension[];
  readonly log: Log;
}

/** Says where it listens, or why it does not: then the exit code. */
export async function startHttp(
  { profile, calledAs, where, process }: Invocation,
  parts: HttpParts,
): Promise<(Pick<HttpServing, "ready" | "drain" | "reload"> & { readonly close: () => Promise<unknown> }) | number> {
  const { name } = profile;
  const { settings, access, log } = parts;
  const { host, port } = settings;
  const { authToken, isTokenMade, tls } = access;
  const scheme = tls ? "https" : "http";
  const about = { prefix: name, host, port, scheme, keepsToken: isTokenMade, ...(authToken && { authToken }) } as const;
  try {
    const { refuseSecond, takePort } = await import("../pidfile.js");
    // Checked again when the port is bound; here it saves the loading.
    if (port !== 0 && settings.fd === undefined) refuseSecond(about);
    const { shares: sharesDirectory, people: peoplePath } = resolvePaths(process.env);
    const shareUrl = process.env[envName(profile, "SHARE_URL")];
    const pageCode = settings.page && authToken !== undefined ? makeToken() : undefined;
    const bind = () => listenHttp({ ...parts, profile, sharesDirectory, shareUrl, peoplePath, pageCode });
    const { bound, pidfile } = await takePort(bind, about, log);
    if (settings.requestLog === "debug") logRequests(bound.server, log, "debug");
    else if (settings.requestLog === "info" && !process.stderr.isTTY) logRequests(bound.server, log, "info");
    if (isTokenMade && pidfile) process.stderr.write(`[${name}] requests carry the token in ${pidfile.tokenPath}\n`);
    process.stderr.write(
      `[${name}] HTTP server listening on ${bound.url} (stop it with Ctrl-C or ${calledAs} serve stop --port ${bound.port})\n`,
    );
    if (settings.page && (settings.open || pageCode !== undefined)) {
      const { showPage } = await import("./page-address.js");
      await showPage({ url: bound.url, code: pageCode, opens: settings.open, program: name, process });
    }
    return {
      ready: bound.ready,
      drain: bound.drain,
      reload: bound.reload,
      close: async () => {
        pidfile?.remove();
        await bound.close();
      },
    };
  } catch (error) {
    if (isUsageError(error)) throw error;
    process.stderr.write(`${whyNot(name, where, settings, error)}\n`);
    return isHostError(error) ? 2 : 1;
  }
}

/** An extension may want requests to carry a token where the user set none. */
export function requireToken(
  { profile, process }: Invocation,
  access: HttpAccess,
  extensions: readonly StartedExtension[],
  made: string,
): HttpAccess {
  const why = access.authToken === undefined && extensions.map(({ needsToken }) => needsToken).find(Boolean);
  if (!why) return access;
  process.stderr.write(`[${profile.name}] ${why}\n`);
  return { ...access, authToken: made, isTokenMade: true };
}

/** Binds the port, then loads core and app. Throws a UsageError for a bad certificate, else what the socket threw. */
async function listenHttp(options: HttpOptions): Promise<HttpServing> {
  const { profile, settings, access } = options;
  const { host, port } = settings;
  const startedAt = Date.now();
  const { createEarly, listen } = await import("@chimera/http-server/node");
  let app: Awaited<ReturnType<typeof loadApp>> | undefined;
  let stopMetrics = () => {};
  const load = async (server: Server) => {
    const { metricsPort } = settings;
    app = await loadApp(options, startedAt, server);
    if (metricsPort !== null) {
      const { listenMetrics } = await import("./metrics-port.js");
      stopMetrics = await listenMetrics(metricsPort, app.metrics);
    }
    return app;
  };
  const listening = await listen(load, {
    host,
    port,
    ...(settings.fd !== undefined && { fd: settings.fd }),
    early: createEarly({ version: profile.version, startedAt }),
    ...(access.tls && { tls: access.tls }),
  }).catch((error) => {
    throw error?.code?.startsWith("ERR_OSSL") ? new UsageError(`--tls-cert, --tls-key: ${error.message}`) : error;
  });
  const bound = listening.server.address();
  const address = settings.fd !== undefined && typeof bound === "object" && bound ? bound.address : host;
  if (settings.fd !== undefined && access.authToken === undefined && !isLoopback(address)) {
    await listening.close();
    throw new UsageError(`the socket is bound to ${address}, which is not loopback: set a token first`);
  }
  const name = address.includes(":") ? `[${address}]` : address;
  const reload = async ({ authToken, tls }: Pick<HttpAccess, "authToken" | "tls">) => {
    if (authToken !== undefined) app?.changeAuthToken(authToken);
    if (tls && "setSecureContext" in listening.server) (listening.server as TlsServer).setSecureContext(tls);
    await app?.people?.reload();
  };
  const stopRenewing =
    access.tls && (await import("./renew-tls.js")).renewTls(listening.server, access.tls.files, options.log);
  const close = async () => {
    stopRenewing?.();
    stopMetrics();
    await Promise.all([app?.close(), listening.close()]);
  };
  const drain = async (ms: number) => {
    if (!app) return;
    app.drain();
    const { sessions } = await options.core();
    await Promise.race([Promise.all(sessions.live().map((session) => session.idle())), wait(ms)]);
  };
  return { ...listening, close, drain, reload, url: `${access.tls ? "https" : "http"}://${name}:${listening.port}` };
}

/**
 * One line a request, with the id that its answer carries. A person who watches a terminal is shown them where every detail was asked for;
 * a service's log has all but the probes. Targets are named without their query, which may hold anything.
 */
function logRequests(server: Server, log: Log, write: "debug" | "info"): void {
  server.on("request", (request, response) => {
    const started = performance.now();
    response.once("close", () => {
      const path = request.url?.split("?", 1)[0] ?? "";
      if (write === "info" && PROBES.test(path)) return;
      const id = response.getHeader("x-request-id");
      const ms = Math.round(performance.now() - started);
      log[write]("request", { request: id, method: request.method, path, status: response.statusCode, ms });
    });
  });
}

// --- internal ---

const PROBES = /^\/(health|healthz|ping|readyz|metrics)$/;

const OPEN_TO_ALL =
  "without a token every user of this machine can use this server, as the system does not tell them apart: see --auth-token auto";

async function loadApp(options: Parameters<typeof listenHttp>[0], startedAt: number, server: Server) {
  const { profile, settings, access, extensions, log, sharesDirectory, shareUrl, pageCode } = options;
  const [{ createApp, createOwnUserCheck }, { sessionsFor }, { acpServer }, core] = await Promise.all([
    import("@chimera/http-server"),
    import("@chimera/session"),
    import("./acp.js"),
    options.core(),
  ]);
  const isOwnUser = access.authToken === undefined || settings.open ? await createOwnUserCheck(server) : null;
  const people = await peopleOf(options, core.shared);
  if (access.authToken === undefined && !isOwnUser && !people) log.warn(OPEN_TO_ALL);
  const serveAcp = (person: Person | undefined) => {
    const theirs = async () => ({ ...core, sessions: sessionsFor(core.sessions, person) });
    return acpServer({ profile, core: theirs, extensions, ...settings, log });
  };
  const app = createApp({
    name: profile.name,
    version: profile.version,
    agentDescription: profile.tagline,
    startedAt,
    sessions: core.sessions,
    ...(core.shared && { peers: { ...core.shared, ...core.shared.inbox } }),
    palette: core.palette,
    defaultCwd: settings.cwd,
    cors: access.cors,
    hosts: access.hosts,
    ...(access.authToken !== undefined && { authToken: access.authToken }),
    ...(isOwnUser && { isOwnUser }),
    ...(people && { people }),
    ...(settings.page && { page: settings.page }),
    ...(pageCode !== undefined && { pageCode }),
    agents: core.agents,
    tools: async () =>
      (await core.offered()).map(({ name, description, inputSchema }) => ({
        name,
        description,
        input_schema: { ...inputSchema },
      })),
    providers: core.providers,
    models: core.knownModels,
    engines: core.engines.list,
    acp: ({ onlySession, person, ...peer }) =>
      serveAcp(person)({ ...peer, ...(onlySession !== undefined && { remote: remoteOf(core, onlySession) }) }),
    options: [...(core.options ?? []), ...extensions.flatMap(({ protocol }) => protocol?.options ?? [])],
    sharesDirectory,
    ...(shareUrl && { shareUrl }),
    log: log.error,
  });
  return Object.assign(app, { people });
}

/** Where no token is set and nobody is listed, the server is its own user's alone. */
async function peopleOf({ access, log, peoplePath }: HttpOptions, shared: RunningCore["shared"]) {
  const [{ openPeople }, { fileList, parsePeople }] = await Promise.all([
    import("../people/open-people.js"),
    import("../people/people-list.js"),
  ]);
  const place = shared?.people ?? fileList(peoplePath);
  const isWanted = access.authToken !== undefined || access.proxy !== null;
  if (!isWanted && parsePeople(await place.read()).length === 0) return null;
  return openPeople(place, access.proxy, log);
}

/** A session's token may make the session stricter, and nothing else of what a person decides. */
function remoteOf({ sessions }: RunningCore, id: string): NonNullable<AcpPeer["remote"]> {
  return { id, facts: () => ({ mode: sessions.find(id)?.mode ?? "read-only", approval: "" }) };
}

interface HttpOptions extends HttpParts {
  readonly profile: Profile;
  readonly sharesDirectory: string;
  /** Where shares are posted when a request names no address. */
  readonly shareUrl: string | undefined;
  readonly peoplePath: string;
  /** By which a page may sign in. */
  readonly pageCode: string | undefined;
}

function whyNot(program: string, where: string, { host, port }: ServeSettings, error: unknown): string {
  if (isHostError(error)) {
    return `ERROR: ${program} serve ${error.message}. Stop it first or use a different --port.`;
  }
  const { code, message } = error as NodeJS.ErrnoException;
  const reason =
    code === "EADDRINUSE" ? `another program has port ${port}; choose another with --port <port>` : message;
  return `${where}: cannot listen on ${host}:${port}: ${reason}`;
}
