/** `serve status` lists the recorded servers, and `serve stop` ends them. */
import type { Invocation } from "../command/command.js";
import type { FlagValues } from "../command/flag.js";
import { UsageError } from "../command/usage-error.js";
import { type Kind, number } from "../config/kind.js";
import { resolvePaths } from "../paths.js";
import type { PidfileEntry, StopFailure, StopResult } from "../pidfile.js";

const PORT = number({ whole: true, max: 65535 });
/** In seconds, at most a day: longer than anybody waits, and short enough for a timer. */
const TIMEOUT = number({ max: 86_400 });

/**
 * Asks recorded servers to end, waits, and then kills those that still run.
 *
 * @returns 0 when every matching server is stopped, also when there was none; 1 when one still runs. Throws a UsageError (2) when several run and none is named.
 */
export async function stop({ profile, flags, process }: Invocation): Promise<number> {
  const { listPidfiles, stopAll } = await import("../pidfile.js");
  const servers = { prefix: profile.name, directory: resolvePaths(process.env).run };
  const port = read(flags, "port", PORT);
  const timeout = read(flags, "serve-timeout", TIMEOUT) ?? 10;
  if (port !== undefined && flags["all"] === true) throw new UsageError("--port and --all exclude each other");
  if (port === undefined && flags["all"] !== true) requireOne(profile.name, listPidfiles(servers));
  const results = await stopAll({ ...servers, timeout, ...(port !== undefined && { port }) });
  if (flags["json"] === true) process.stdout.write(`${JSON.stringify({ servers: results }, null, 2)}\n`);
  else {
    const where = port === undefined ? "s" : ` on port ${port}`;
    if (results.length === 0) process.stderr.write(`no ${profile.name} server${where} found\n`);
    process.stdout.write(results.map((result) => `${lineOf(result)}\n`).join(""));
  }
  return results.every(({ stopped }) => stopped) ? 0 : 1;
}

/** One line for every recorded server. */
export async function status({ profile, flags, process }: Invocation): Promise<number> {
  const { listPidfiles } = await import("../pidfile.js");
  const entries = listPidfiles({ prefix: profile.name, directory: resolvePaths(process.env).run });
  if (flags["json"] === true) {
    process.stdout.write(`${JSON.stringify({ servers: entries }, null, 2)}\n`);
    return 0;
  }
  if (entries.length === 0) process.stderr.write(`no ${profile.name} servers found\n`);
  process.stdout.write(entries.map((entry) => `${statusLine(entry)}\n`).join(""));
  return 0;
}

// --- internal ---

const ENDS: Readonly<Record<StopResult["signaled"], string>> = {
  none: "already stopped",
  sigterm: "stopped (SIGTERM)",
  "sigterm+sigkill": "stopped (SIGTERM, then SIGKILL)",
};

const FAILURES: Readonly<Record<StopFailure, string>> = {
  invalid_pid: "it is the first process of its system, which is never signalled",
  runs_elsewhere: "it runs on another machine or in another container",
  sigterm_failed: "it may not be signalled",
  sigkill_failed: "it may not be killed",
  still_alive_after_sigkill: "it is still there after SIGKILL",
};

function requireOne(prefix: string, servers: readonly PidfileEntry[]): void {
  const running = servers.filter(({ alive }) => alive);
  if (new Set(running.map(({ pid }) => pid)).size < 2) return;
  const ports = running.map(({ port, socket }) => socket ?? port).join(", ");
  throw new UsageError(`multiple ${prefix} servers running (ports ${ports}); pass --port <n> or --all to disambiguate`);
}

function lineOf({ prefix, pid, signaled, stopped, error, ...at }: StopResult): string {
  const verdict = stopped ? `ok: ${ENDS[signaled]}` : `FAILED: ${FAILURES[error!]}`;
  return `${prefix} ${placeOf(at)} pid=${pid} ${verdict}`;
}

function read(flags: FlagValues, name: string, kind: Kind<number>): number | undefined {
  const given = flags[name];
  if (typeof given !== "string") return undefined;
  const value = kind.fromText(given, "");
  if (value === undefined) throw new UsageError(`--${name} takes ${kind.takes}, not ${JSON.stringify(given)}`);
  return value;
}

function placeOf({ port, socket }: Pick<PidfileEntry, "port" | "socket">): string {
  return socket === undefined ? `port=${port}` : `socket=${socket}`;
}

function statusLine({ prefix, pid, alive, scheme, auth_token_hash, path, ...at }: PidfileEntry): string {
  const life = alive ? "yes" : "no (stale)";
  const auth = auth_token_hash === null ? "no" : "yes";
  return `${prefix} ${placeOf(at)} pid=${pid} alive=${life} scheme=${scheme} auth=${auth} ${path}`;
}
