/** Identifies a process by pid and start time, because the system reuses pids. */
import { execFileSync } from "node:child_process";
import { hostname, uptime } from "node:os";
import { bootId, exists, type Holder, pidNamespace, startTicks } from "./identity.js";

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot on Linux, a date elsewhere; null where the platform does not say. */
  readonly start: string | null;
  /** The start time as seconds since the epoch, accurate to about a second. */
  readonly startedAt: number | null;
}

/**
 * Finds a process by its pid. Null if no such process runs. A zombie counts as ended.
 *
 * @example
 * const server = identify(pid);
 * if (server && isStillThere(server)) process.kill(pid, "SIGTERM");
 */
export function identify(pid: number): ProcessIdentity | null {
  // To `kill`, 0 and negative numbers are process groups.
  if (!Number.isSafeInteger(pid) || pid < 1) return null;
  const platform = PLATFORMS[process.platform] ?? viaPs;
  return exists(pid) ? platform(pid) : null;
}

/**
 * Whether this very process still runs: a later process with its pid is another one.
 *
 * @example
 * const before = identify(pid);
 * if (before && !isStillThere(before)) console.log("it has ended");
 */
export function isStillThere(identity: ProcessIdentity): boolean {
  const now = identify(identity.pid);
  return now !== null && now.start === identity.start;
}

/**
 * The holder's process if it runs here; "elsewhere" when its pid belongs to another machine or pid namespace.
 *
 * @example
 * const running = findHolder(holder);
 * if (running === null) console.log("its process has ended");
 */
export function findHolder(holder: Holder): ProcessIdentity | "elsewhere" | null {
  const boot = bootId();
  if (boot === null || holder.boot !== boot) {
    if (holder.host !== hostname()) return "elsewhere";
    // Every process of an earlier boot of this machine has ended.
    return boot === null ? identify(holder.pid) : null;
  }
  if (holder.pidns !== pidNamespace()) return "elsewhere";
  const found = identify(holder.pid);
  return holder.start === null || found?.start === holder.start ? found : null;
}

/**
 * Describes a running process so that `findHolder` finds it again; null when there is none.
 *
 * @example
 * const holder = describeProcess(process.pid);
 */
export function describeProcess(pid: number): Holder | null {
  const found = identify(pid);
  if (found === null) return null;
  return { instance: "", pid, start: found.start, boot: bootId(), pidns: pidNamespace(), host: hostname() };
}

// --- internal ---

type Identify = (pid: number) => ProcessIdentity | null;

/** Linux reports process times in hundredths of a second, whatever the rate of the kernel's own timer. */
const TICKS_PER_SECOND = 100;

const PLATFORMS: Partial<Record<NodeJS.Platform, Identify>> = { linux: viaProc, win32: viaPowerShell };

function viaProc(pid: number): ProcessIdentity | null {
  const start = startTicks(pid);
  if (start === undefined) return null;
  if (start === null) return { pid, start, startedAt: null };
  return { pid, start, startedAt: Date.now() / 1000 - uptime() + Number(start) / TICKS_PER_SECOND };
}

function viaPs(pid: number): ProcessIdentity | null {
  return fromDate(pid, () => output("env", ["LC_ALL=C", "ps", "-o", "lstart=", "-p", String(pid)]));
}

function viaPowerShell(pid: number): ProcessIdentity | null {
  const script = `(Get-Process -Id ${pid}).StartTime.ToUniversalTime().ToString('o')`;
  return fromDate(pid, () => output("powershell.exe", ["-NoProfile", "-NonInteractive", "-Command", script]));
}

function fromDate(pid: number, read: () => string): ProcessIdentity {
  try {
    const start = read();
    const ms = Date.parse(start);
    return { pid, start: start || null, startedAt: Number.isNaN(ms) ? null : ms / 1000 };
  } catch {
    return { pid, start: null, startedAt: null };
  }
}

function output(file: string, args: readonly string[]): string {
  return execFileSync(file, args, { encoding: "utf8", timeout: 5000, stdio: ["ignore", "pipe", "ignore"] }).trim();
}
