/** HTTP on a port. */
import type { Server } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import type { Listening } from "@chimera/http-server/node";
import { UsageError } from "../command/usage-error.js";
import type { RunningCore } from "../compose.js";
import type { Log } from "../log/log.js";
import type { Profile, StartedExtension } from "../profile.js";
import type { HttpAccess } from "./http-access.js";
import type { ServeSettings } from "./settings.js";

export interface HttpServing extends Listening {
  readonly url: string;
  /** Begins no turn any more and resolves when those that run have ended, or after so many milliseconds. */
  drain(ms: number): Promise<void>;
}

/** Binds the port, then loads core and app. Throws a UsageError for a bad certificate, else what the socket threw. */
export async function listenHttp(options: {
  readonly profile: Profile;
  readonly settings: ServeSettings;
  readonly access: HttpAccess;
  readonly core: () => Promise<RunningCore>;
  readonly extensions: readonly StartedExtension[];
  readonly log: Log;
  readonly sharesDirectory: string;
  /** Where shares are posted when a request names no address. */
  readonly shareUrl: string | undefined;
}): Promise<HttpServing> {
  const { profile, settings, access } = options;
  const { host, port } = settings;
  const startedAt = Date.now();
  const { createEarly, listen } = await import("@chimera/http-server/node");
  let app: Awaited<ReturnType<typeof loadApp>> | undefined;
  const load = async (server: Server) => {
    app = await loadApp(options, startedAt, server);
    return app;
  };
  const listening = await listen(load, {
    host,
    port,
    early: createEarly({ version: profile.version, startedAt, hosts: access.hosts }),
    ...(access.tls && { tls: access.tls }),
  }).catch((error) => {
    throw error?.code?.startsWith("ERR_OSSL") ? new UsageError(`--tls-cert, --tls-key: ${error.message}`) : error;
  });
  const name = host.includes(":") ? `[${host}]` : host;
  const drain = async (ms: number) => {
    if (!app) return;
    app.drain();
    const { sessions } = await options.core();
    await Promise.race([Promise.all(sessions.live().map((session) => session.idle())), wait(ms)]);
  };
  return { ...listening, drain, url: `${access.tls ? "https" : "http"}://${name}:${listening.port}` };
}

/** One line a request, where every detail was asked for. Targets are named without their query, which may hold anything. */
export function logRequests(server: Server, log: Log): void {
  server.on("request", (request, response) => {
    const started = performance.now();
    response.once("close", () => {
      // The same that the caller is given.
      const id = response.getHeader("x-request-id");
      const path = request.url?.split("?", 1)[0];
      const ms = Math.round(performance.now() - started);
      log.debug("request", { request: id, method: request.method, path, status: response.statusCode, ms });
    });
  });
}

// --- internal ---

const OPEN_TO_ALL =
  "without a token every user of this machine can use this server, as the system does not tell them apart: see --auth-token auto";

async function loadApp(options: Parameters<typeof listenHttp>[0], startedAt: number, server: Server) {
  const { profile, settings, access, extensions, log, sharesDirectory, shareUrl } = options;
  const [{ createApp, createOwnUserCheck }, core] = await Promise.all([import("@chimera/http-server"), options.core()]);
  const isOwnUser = access.authToken === undefined ? await createOwnUserCheck(server) : null;
  if (access.authToken === undefined && !isOwnUser) log.warn(OPEN_TO_ALL);
  return createApp({
    name: profile.name,
    version: profile.version,
    agentDescription: profile.tagline,
    startedAt,
    sessions: core.sessions,
    palette: core.palette,
    defaultCwd: settings.cwd,
    cors: access.cors,
    hosts: access.hosts,
    ...(access.authToken !== undefined && { authToken: access.authToken }),
    ...(isOwnUser && { isOwnUser }),
    agents: core.agents,
    tools: async () =>
      (await core.offered()).map(({ name, description, inputSchema }) => ({
        name,
        description,
        input_schema: { ...inputSchema },
      })),
    providers: core.providers,
    models: core.knownModels,
    options: [...(core.options ?? []), ...extensions.flatMap(({ protocol }) => protocol?.options ?? [])],
    sharesDirectory,
    ...(shareUrl && { shareUrl }),
    log: log.error,
  });
}
