/** HTTP on a port. */
import { createApp } from "@chimera/http-server";
import { type Listening, listen } from "@chimera/http-server/node";
import { UsageError } from "../command/usage-error.js";
import type { RunningEngine } from "../engine.js";
import type { Log } from "../log/log.js";
import type { Profile } from "../profile.js";
import type { HttpAccess } from "./http-access.js";
import type { ServeSettings } from "./settings.js";

export interface HttpServing extends Listening {
  readonly url: string;
}

/** Throws a UsageError for a certificate that is none, and what the socket threw otherwise. */
export async function listenHttp(options: {
  readonly profile: Profile;
  readonly settings: ServeSettings;
  readonly access: HttpAccess;
  readonly engine: RunningEngine;
  readonly log: Log;
}): Promise<HttpServing> {
  const { profile, settings, access, engine, log } = options;
  const app = createApp({
    name: profile.name,
    version: profile.version,
    sessions: engine.sessions,
    palette: engine.palette,
    defaultCwd: settings.cwd,
    cors: access.cors,
    hosts: access.hosts,
    ...(access.authToken !== undefined && { authToken: access.authToken }),
    agents: engine.agents,
    tools: engine.tools,
    providers: engine.providers,
    log: log.error,
  });
  const { host, port } = settings;
  const listening = await listen(app, { host, port, ...(access.tls && { tls: access.tls }) }).catch((error) => {
    throw error?.code?.startsWith("ERR_OSSL") ? new UsageError(`--tls-cert, --tls-key: ${error.message}`) : error;
  });
  const name = host.includes(":") ? `[${host}]` : host;
  return { ...listening, url: `${access.tls ? "https" : "http"}://${name}:${listening.port}` };
}
