/** Stops recorded servers: sends SIGTERM, waits, and sends SIGKILL to those that still run. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { requireDelay } from "@chimera/acp-schema/timer";
import { isStillThere, type ProcessIdentity } from "@chimera/event-store/claim";
import { type ListOptions, listOwned } from "./list.js";
import { type Owner, slotOf } from "./record.js";
import { reapPidfile } from "./write.js";

export type StopFailure =
  | "invalid_pid"
  | "runs_elsewhere"
  | "sigterm_failed"
  | "sigkill_failed"
  | "still_alive_after_sigkill";

export interface StopResult {
  readonly pid: number;
  /** 0 for a server on a Unix socket. */
  readonly port: number;
  readonly socket?: string;
  readonly prefix: string;
  readonly signaled: "none" | "sigterm" | "sigterm+sigkill";
  readonly stopped: boolean;
  readonly pidfile_removed: boolean;
  readonly error: StopFailure | null;
}

export interface StopOptions extends ListOptions {
  /** Seconds between the two signals. @defaultValue 10 */
  readonly timeout?: number;
}

const STANDARD_WAIT_S = 10;
const POLL_MS = 100;
const KILL_WAIT_MS = 2000;

/** Stops every server of the prefix, or the one on a port; all in parallel. */
export async function stopAll(options: StopOptions): Promise<StopResult[]> {
  // A timeout that is not a finite number would kill at once, or wait forever.
  requireDelay("timeout", options.timeout ?? STANDARD_WAIT_S);
  // Signal a process once even if it listens in several places: at the second signal it would not wait for its sessions.
  const ends = new Map<number, Promise<Outcome>>();
  return Promise.all(
    listOwned(options).map(async ({ entry, owner }) => {
      const { pid, port, socket, prefix, path } = entry;
      const ending = (owner && ends.get(pid)) ?? end(owner, pid, options);
      if (owner) ends.set(pid, ending);
      const outcome = await ending;
      const place = { directory: dirname(path), prefix, slot: slotOf(entry) };
      const removed = outcome.stopped && (!existsSync(path) || reapPidfile(place));
      return { pid, port, ...(socket !== undefined && { socket }), prefix, ...outcome, pidfile_removed: removed };
    }),
  );
}

// --- internal ---

type Outcome = Pick<StopResult, "signaled" | "stopped" | "error">;

async function end(owner: Owner, pid: number, { timeout = STANDARD_WAIT_S }: StopOptions): Promise<Outcome> {
  if (owner === "elsewhere") return { signaled: "none", stopped: false, error: "runs_elsewhere" };
  if (owner === null) return { signaled: "none", stopped: true, error: pid > 1 ? null : "invalid_pid" };
  if (owner.pid <= 1) return { signaled: "none", stopped: false, error: "invalid_pid" };
  if (!send(owner, "SIGTERM")) return { signaled: "none", stopped: false, error: "sigterm_failed" };
  if (await isGone(owner, timeout * 1000)) return { signaled: "sigterm", stopped: true, error: null };
  if (!send(owner, "SIGKILL")) return { signaled: "sigterm", stopped: false, error: "sigkill_failed" };
  const stopped = await isGone(owner, KILL_WAIT_MS);
  return { signaled: "sigterm+sigkill", stopped, error: stopped ? null : "still_alive_after_sigkill" };
}

/** Checks the process again right before the signal. One that has ended meanwhile counts as signalled. */
function send(owner: ProcessIdentity, name: "SIGTERM" | "SIGKILL"): boolean {
  if (!isStillThere(owner)) return true;
  try {
    process.kill(owner.pid, name);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

async function isGone(owner: ProcessIdentity, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (isStillThere(owner)) {
    const left = deadline - performance.now();
    if (left <= 0) return false;
    await new Promise((resolve) => setTimeout(resolve, Math.min(POLL_MS, left)));
  }
  return true;
}
