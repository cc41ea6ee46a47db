/** Ends a server at a signal, or at an error that no code caught. */
import { AsyncLocalStorage } from "node:async_hooks";
import { readdirSync, readFileSync } from "node:fs";
import { orElse } from "@chimera/acp-schema/lenient";
import type { Trace } from "@chimera/agent";
import type { Log } from "../log/log.js";

const NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
const EXIT_FAULT = 70;

/**
 * Resolves with the exit code: 0 after a signal (a second one ends the process at once), 70 after a fault. An unhandled rejection that
 * `owners` trace to a turn ends only that turn.
 *
 * @param reload returns what a service does at a hang-up; null when a hang-up ends the process.
 */
export function untilEnd(
  process: NodeJS.Process,
  log: Log,
  owners?: TurnOwners,
  reload: () => (() => Promise<void>) | null = () => null,
): Promise<number> {
  return new Promise((resolve) => {
    let asked = false;
    for (const name of Object.keys(NUMBERS) as (keyof typeof NUMBERS)[]) {
      process.on(name, () => {
        const again = name === "SIGHUP" ? reload() : null;
        if (again) {
          const failed = (error: unknown) => log.error("not everything was read again", { error: String(error) });
          return void again().then(() => log.info("read again", { signal: name }), failed);
        }
        if (asked) {
          endChildren(process);
          process.exit(128 + NUMBERS[name]);
        }
        asked = true;
        log.info("stopping", { signal: name });
        resolve(0);
      });
    }
    const fault = (error: unknown) => {
      log.error("a bug in the program; ending", { error: error instanceof Error ? error : String(error) });
      resolve(EXIT_FAULT);
    };
    // Replaces the program's own listener, which would end the process without closing anything.
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", fault);
    process.on("unhandledRejection", (reason) => {
      const error = reason instanceof Error ? reason : new Error(String(reason));
      if (!owners?.fail(error)) return fault(error);
      log.error("an unhandled rejection ends the turn that caused it", { error });
    });
  });
}

/** Finds the turn that caused an unhandled rejection, so that the turn ends instead of the process. */
interface TurnOwners {
  readonly trace: Trace;
  /** Ends the turn that owns the running code; returns false when none does. */
  fail(error: Error): boolean;
}

/** Tracing costs every promise (a fifth of a streamed answer on Node 20), so it lasts while turns with tools run. */
export function createTurnOwners(): TurnOwners {
  const storage = new AsyncLocalStorage<Owner>();
  let traced = 0;
  return {
    trace(fail) {
      const owner: Owner = { fail };
      let isTraced = false;
      return {
        run(work) {
          if (owner.fail === null) return work();
          if (!isTraced) traced++;
          isTraced = true;
          return storage.run(owner, work);
        },
        end() {
          owner.fail = null;
          if (isTraced && --traced === 0) storage.disable();
        },
      };
    },
    fail(error) {
      const fail = storage.getStore()?.fail;
      fail?.(error);
      return Boolean(fail);
    },
  };
}

/** Kills every child of this process with its whole group, for an end that cannot wait. */
export function endChildren(process: NodeJS.Process): void {
  for (const pid of childrenOf(process)) {
    // A child that leads no group is killed alone.
    if (!kill(process, -pid)) kill(process, pid);
  }
}

// --- internal ---

/**
 * Whatever a tool makes that outlives its turn (a watch, a connection) keeps this object alive, so it drops its reference when the turn
 * ends.
 */
interface Owner {
  fail: ((error: Error) => void) | null;
}

function childrenOf(process: NodeJS.Process): number[] {
  try {
    const list = process.platform === "linux" ? fromProc() : fromPgrep(process.pid);
    return list
      .split(/\s+/)
      .map(Number)
      .filter((pid) => pid > 1);
  } catch {
    // There are no children, or the system cannot list them.
    return [];
  }
}

function fromProc(): string {
  const threads = readdirSync("/proc/self/task");
  return threads.map((thread) => readFileSync(`/proc/self/task/${thread}/children`, "utf8")).join(" ");
}

function fromPgrep(parent: number): string {
  // Loaded here, so that no start pays for it.
  const { execFileSync } = process.getBuiltinModule("node:child_process");
  return execFileSync("pgrep", ["-P", String(parent)], {
    encoding: "utf8",
    timeout: 1000,
    stdio: ["ignore", "pipe", "ignore"],
  });
}

function kill(process: NodeJS.Process, pid: number): boolean {
  return orElse(() => process.kill(pid, "SIGKILL"), false);
}
