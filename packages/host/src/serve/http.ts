/** HTTP on ports and Unix sockets: one app, however many addresses it listens on. */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { lazily, withResolvers } from "@chimera/acp-schema/promises";
import type { AcpServer } from "@chimera/acp-server";
import { createEarly, type Listening, listen } from "@chimera/http-server/node";
import type { Invocation } from "../command/command.js";
import { isUsageError, UsageError } from "../command/usage-error.js";
import { isHostError } from "../errors.js";
import type { Log } from "../log/log.js";
import { resolvePaths } from "../paths.js";
import { type Pidfile, refuseSecond, takePort } from "../pidfile.js";
import { envName, type StartedExtension } from "../profile.js";
import { type HttpAccess, isLoopback, makeToken, readToken } from "./http-access.js";
import { type HttpAddress, nameOf, urlOf } from "./listen-addresses.js";
import type { HttpOptions, HttpParts } from "./load-app.js";
import type { Renewal } from "./renew-tls.js";

export { makeToken, readHttpAccess } from "./http-access.js";

type HttpServing = ReturnType<typeof openHttp>;

/** Starts the server and prints where it listens. When that fails, it prints why and returns the exit code. */
export async function startHttp(
  invocation: Invocation,
  parts: HttpParts,
): Promise<(Pick<HttpServing, "ready" | "drain" | "reload"> & { readonly close: () => Promise<unknown> }) | number> {
  const { profile, where, process } = invocation;
  const { settings, access, log } = parts;
  const { shares: sharesDirectory, people: peoplePath } = resolvePaths(process.env);
  const shareUrl = process.env[envName(profile, "SHARE_URL")];
  const pageCode = settings.page && access.authToken !== undefined ? makeToken() : undefined;
  const serving = openHttp({ ...parts, profile, sharesDirectory, shareUrl, peoplePath, pageCode });
  const pidfiles: (Pidfile | null)[] = [];
  const close = async () => {
    for (const pidfile of pidfiles) pidfile?.remove();
    await serving.close();
  };
  /** Closes what is bound, and prints why it is not served. Returns the exit code, or throws a UsageError. */
  const failed = async (error: unknown, address: HttpAddress, flag: string) => {
    await close();
    if (isUsageError(error)) throw error;
    const { whyNot } = await import("./why-not.js");
    process.stderr.write(`${whyNot(profile.name, where, address, flag, error)}\n`);
    return isHostError(error) ? 2 : 1;
  };
  for (const address of settings.http) {
    try {
      const { url, server, pidfile } = await open(invocation, parts, address, serving);
      pidfiles.push(pidfile);
      if (settings.requestLog === "debug") logRequests(server, log, "debug");
      else if (settings.requestLog === "info" && !process.stderr.isTTY) logRequests(server, log, "info");
      const isFirst = address === settings.http.find(({ kind }) => kind === "port");
      if (isFirst && settings.page && (settings.open || pageCode !== undefined)) {
        const { showPage } = await import("./page-address.js");
        await showPage({ url, code: pageCode, opens: settings.open, program: profile.name, process });
      }
    } catch (error) {
      return failed(error, address, "--port");
    }
  }
  const { metricsPort } = settings;
  if (metricsPort !== null) {
    const address = { kind: "port", scheme: "http", host: "127.0.0.1", port: metricsPort } as const;
    try {
      await serving.listenMetrics(metricsPort);
    } catch (error) {
      return failed(error, address, "--metrics-port");
    }
  }
  serving.begin();
  return { ...serving, close };
}

/** Binds one address, writes its pidfile and prints it. */
async function open(
  { profile: { name }, calledAs, process }: Invocation,
  { access, log }: HttpParts,
  address: HttpAddress,
  { listenOn }: HttpServing,
) {
  const { authToken, isTokenMade } = access;
  const at =
    address.kind === "port"
      ? address
      : { scheme: "http" as const, host: "", port: 0, socket: address.path, fd: undefined };
  const about = {
    ...at,
    prefix: name,
    keepsToken: isTokenMade && address.kind === "port",
    ...(authToken && { authToken }),
  };
  // `takePort` checks this again. Checking here saves loading the app for nothing.
  if (at.port !== 0 && at.fd === undefined) refuseSecond(about);
  const { bound, pidfile } = await takePort(() => listenOn(address), about, log);
  const say = (text: string) => process.stderr.write(`[${name}] ${text}\n`);
  if (about.keepsToken && pidfile) say(`requests carry the token in ${pidfile.tokenPath}`);
  const stop = address.kind === "port" ? ` --port ${bound.port}` : "";
  say(`HTTP server listening on ${bound.url} (stop it with Ctrl-C or ${calledAs} serve stop${stop})`);
  return { ...bound, pidfile };
}

/** Makes requests need a token when an extension wants that and the user set none. */
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

/** The app and its addresses. The app is loaded once, after all addresses are bound. */
function openHttp(options: HttpOptions) {
  const { profile, settings, access, extensions, log } = options;
  const startedAt = Date.now();
  const bound: Listening[] = [];
  const lines = new Set<AcpServer>();
  let stopMetrics = () => {};
  const certificates: Renewal[] = [];
  const { promise: begun, resolve: begin, reject: giveUp } = withResolvers();
  begun.catch(() => {});
  const app = lazily(async () => {
    await begun;
    const onPort = bound.find(({ port }) => port > 0) ?? bound[0];
    const { loadApp } = await import("./load-app.js");
    return loadApp(options, startedAt, onPort!.server);
  });
  const onLines = async (socket: Socket) => {
    const { streamChannel } = await import("@chimera/ndjson-rpc");
    const serve = options.acpServer({ ...settings, profile, core: options.core, extensions, log });
    const server = serve({ channel: streamChannel(socket, socket) });
    lines.add(server);
    void server.closed.finally(() => lines.delete(server));
  };

  return {
    /** Call this when every address is bound: the app may be loaded then. */
    begin,
    /** Resolves when the app answers; rejects when it could not be loaded. */
    get ready() {
      return Promise.all(bound.map(({ ready }) => ready));
    },
    /** Throws a UsageError for a bad certificate, or the socket's error. */
    async listenOn(address: HttpAddress) {
      const isSecure = address.kind === "port" && address.scheme === "https";
      const early = createEarly({ version: profile.version, startedAt });
      const where =
        address.kind === "port" ? address : { path: address.path, onLines: (socket: Socket) => void onLines(socket) };
      const listening = await listen(app.get, { ...where, early, ...(isSecure && { tls: access.tls! }) }).catch(
        (error) => {
          throw error?.code?.startsWith("ERR_OSSL") ? new UsageError(`--tls-cert, --tls-key: ${error.message}`) : error;
        },
      );
      bound.push(listening);
      if (isSecure) {
        const { renewTls } = await import("./renew-tls.js");
        certificates.push(renewTls(listening.server, access.tls!.files, log));
      }
      return { ...listening, url: urlWhere(address, listening, access) };
    },
    /** Throws the socket's error. */
    async listenMetrics(port: number) {
      const { listenMetrics } = await import("./metrics-port.js");
      stopMetrics = await listenMetrics(port, async () => (await app.get()).metrics());
    },
    /** Reads the certificate, the token and the list of people again. */
    async reload() {
      const loaded = await app.opened();
      for (const { renew } of certificates) renew();
      if (access.tokenFile !== null) loaded?.changeAuthToken(readToken(access.tokenFile));
      await loaded?.people?.reload();
    },
    /**
     * Refuses new turns, waits up to `ms` milliseconds for running ones, and then accepts no more connections. Resolves when every
     * request has its answer.
     */
    async drain(ms: number) {
      const answered = () => Promise.all(bound.map((listening) => listening.answered()));
      const loaded = await app.opened();
      if (loaded && ms > 0) {
        loaded.drain();
        // A prompt that was accepted before this may start its turn in a moment, so wait for the answers first.
        await answered();
        const { sessions } = await options.core();
        const busy = () => sessions.live().filter(({ state }) => state !== "idle");
        const isLate = wait(ms, true, { ref: false });
        const ended = () => Promise.all(busy().map((session) => session.idle())).then(() => false);
        while (busy().length > 0 && !(await Promise.race([ended(), isLate])));
      }
      for (const listening of bound) listening.stopAccepting();
      await answered();
    },
    async close() {
      giveUp(new Error("closed before everything was bound"));
      for (const { stop } of certificates) stop();
      stopMetrics();
      const closed = bound.map((listening) => listening.close());
      // This waits for the sessions to end. Only then is it known how the turns of `lines` ended, to answer their prompts.
      await app.opened().then((loaded) => loaded?.close());
      await Promise.all([...[...lines].map((one) => one.close()), ...closed]);
    },
  };
}

/** The URL of a bound address. Throws a UsageError for a service manager's socket that is not loopback while no token is set. */
function urlWhere(address: HttpAddress, { server, port }: Listening, access: HttpAccess): string {
  if (address.kind === "socket") return nameOf(address);
  const bound = server.address();
  const host = address.fd !== undefined && typeof bound === "object" && bound ? bound.address : address.host;
  if (address.fd !== undefined && access.authToken === undefined && !isLoopback(host))
    throw new UsageError(`the socket is bound to ${host}, which is not loopback: set a token first`);
  return urlOf({ ...address, host, port });
}

/**
 * Logs one line per request, with the id of its answer. At level info it leaves out probes, and terminals show requests only at level
 * debug. The line has the path without its query, which may hold secrets.
 */
function logRequests(server: Server, log: Log, write: "debug" | "info"): void {
  server.on("request", (request, response) => {
    const started = performance.now();
    response.once("close", () => {
      const path = request.url?.split("?", 1)[0] ?? "";
      if (write === "info" && PROBES.test(path)) return;
      const id = response.getHeader("x-request-id");
      const ms = Math.round(performance.now() - started);
      log[write]("request", { request_id: id, method: request.method, path, status: response.statusCode, ms });
    });
  });
}

// --- internal ---

const PROBES = /^\/(health|healthz|ping|readyz|metrics)$/;
