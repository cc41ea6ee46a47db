/** `serve`: ACP on stdio, HTTP on a port, or both on the same sessions, until the peer goes or a signal comes. */
import type { Invocation } from "../command/command.js";
import { isUsageError } from "../command/usage-error.js";
import { type Config, readConfig } from "../config/read-config.js";
import type { RunningEngine } from "../engine.js";
import type { Log } from "../log/log.js";
import { openLog } from "../log/open-log.js";
import { requireTools } from "../require-tools.js";
import { type HttpAccess, readHttpAccess } from "./http-access.js";
import { readServeSettings, type ServeSettings } from "./settings.js";

/** What has not ended by then is left behind. */
const STOP_MS = 9000;

export async function serve(invocation: Invocation): Promise<number> {
  const { profile, process } = invocation;
  const config = await readConfig(invocation);
  const settings = readServeSettings(profile, invocation.flags, config);
  const access = settings.http ? readHttpAccess(invocation, settings.host) : null;
  await requireTools(config);
  const log = openLog(process, config.values, access?.authToken === undefined ? [] : [access.authToken]);
  for (const problem of config.problems) log.warn(problem);
  const engine = lazyEngine(invocation, config, log);
  const stopped = stopSignal(process);
  const ends: Promise<unknown>[] = [stopped];
  let closeHttp = async () => {};

  if (access) {
    const http = await serveHttp(invocation, settings, access, engine, log);
    if (!http) return 1;
    closeHttp = http.close;
  }
  if (settings.acp) {
    const { startAcp } = await import("./acp.js");
    const acp = startAcp({ profile, settings, engine: engine.get, log });
    ends.push(acp.closed);
    await Promise.race(ends);
    await acp.close();
  } else {
    await stopped;
  }
  // Nothing new comes in; turns are cancelled and their ends journaled; streams deliver those and end.
  const closed = Promise.all([closeHttp(), engine.close()]);
  await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, STOP_MS).unref())]);
  return 0;
}

// --- internal ---

interface LazyEngine {
  get(): Promise<RunningEngine>;
  close(): Promise<void>;
}

function lazyEngine({ profile, process }: Invocation, config: Config, log: Log): LazyEngine {
  let engine: Promise<RunningEngine> | undefined;
  const open = async () => {
    const { createEngine } = await import("../engine.js");
    return createEngine({ profile, env: process.env, config, log });
  };
  return {
    get() {
      engine ??= open();
      return engine;
    },
    close: async () => (await engine)?.close(),
  };
}

async function serveHttp(
  { profile, process }: Invocation,
  settings: ServeSettings,
  access: HttpAccess,
  engine: LazyEngine,
  log: Log,
): Promise<{ close(): Promise<void> } | null> {
  const [{ startHttp }, running] = await Promise.all([import("./http.js"), engine.get()]);
  try {
    const http = await startHttp({ profile, settings, access, engine: running, log });
    process.stderr.write(`[${profile.name}] HTTP server listening on ${http.url} (stop it with Ctrl-C)\n`);
    return http;
  } catch (error) {
    if (isUsageError(error)) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const reason =
      code === "EADDRINUSE" ? `port ${settings.port} is taken; choose another with --port <port>` : message;
    process.stderr.write(`${profile.name} serve: cannot listen on ${settings.host}:${settings.port}: ${reason}\n`);
    return null;
  }
}

/** Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. */
function stopSignal(process: NodeJS.Process): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(130));
        resolve();
      });
    }
  });
}
