/** A child in a process group of its own, so that ending it ends everything it started. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";

export interface ProcessGroup {
  readonly child: ChildProcess;
  /** Kills what is left of the group at once; harmless when nothing is. */
  sweep(): void;
  /** Asks the group to end, then kills it; also finds children that left the group. Resolves when the child is gone. */
  end(): Promise<void>;
}

/** How long a group may take to end on its own before it is killed. */
const GRACE_MS = 500;
const MARK = "CHIMERA_GROUP";

export function spawnGroup(file: string, args: readonly string[], options: GroupOptions): ProcessGroup {
  const mark = crypto.randomUUID();
  const { descriptors = [], lifeline = false } = options;
  const isTied = lifeline && process.platform !== "win32";
  const fd = 3 + descriptors.length;
  const [program, list] = isTied ? ["/bin/sh", ["-c", tied(fd), "sh", file, ...args]] : [file, [...args]];
  const child = spawn(program, list, {
    cwd: options.cwd,
    env: { ...options.env, [MARK]: mark },
    detached: process.platform !== "win32",
    stdio: [options.input ? "pipe" : "ignore", "pipe", "pipe", ...descriptors, ...(isTied ? (["pipe"] as const) : [])],
    windowsHide: true,
  });
  if (isTied) {
    // Held open for as long as the command runs, and no reason for this process to live.
    const line = child.stdio[fd] as Socket | undefined;
    line?.on("error", () => {}).unref();
    child.once("exit", () => line?.destroy());
  }
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const signal = (name: NodeJS.Signals) => signalGroup(child, name);
  return {
    child,
    sweep: () => signal("SIGKILL"),
    end: async () => {
      signal("SIGTERM");
      await Promise.race([gone, pause(GRACE_MS)]);
      signal("SIGKILL");
      await killMarked(`${MARK}=${mark}`);
      await Promise.race([gone, pause(GRACE_MS)]);
    },
  };
}

// --- internal ---

interface GroupOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Open descriptors that the child inherits, the first as number 3. */
  readonly descriptors?: readonly number[];
  /** Whether the parent writes to it; without, its input is empty. */
  readonly input?: boolean;
  /** Whether it ends with this process even when this one is killed, which costs a shell. Not on Windows. */
  readonly lifeline?: boolean;
}

/** Kills processes with this text in their environment: children with a session of their own are out of the group. */
async function killMarked(text: string): Promise<void> {
  const wanted = Buffer.from(text);
  for (const [index, pid] of processes().entries()) {
    if (index % SLICE === SLICE - 1) await nextTurn();
    if (!carries(pid, wanted)) continue;
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // Gone since it was seen.
    }
  }
}

/** Leaves a process in the group that kills it when a pipe ends which only this process holds open. */
function tied(fd: number): string {
  return `(read -r _ <&${fd}; kill -KILL 0) </dev/null >/dev/null 2>&1 & exec ${fd}<&-; exec "$@"`;
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") spawn("taskkill", ["/pid", String(child.pid), "/T", "/F"], { stdio: "ignore" });
    else process.kill(-child.pid, name);
  } catch {
    // Nobody is left in the group.
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}

/** Processes looked at between two turns of the event loop: about a millisecond of work. */
const SLICE = 64;
/** All environments are read through this page: `readFile` would take 64 KiB for each, with every command. */
const page = Buffer.allocUnsafeSlow(16 * 1024);

function processes(): string[] {
  if (process.platform !== "linux") return [];
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function carries(pid: string, wanted: Buffer): boolean {
  let fd: number | undefined;
  try {
    fd = openSync(`/proc/${pid}/environ`, "r");
    for (let kept = 0; ; ) {
      const read = readSync(fd, page, kept, page.length - kept, null);
      if (read === 0) return false;
      const end = kept + read;
      if (page.subarray(0, end).includes(wanted)) return true;
      // The text may begin in this piece and end in the next.
      kept = Math.min(end, wanted.length - 1);
      page.copyWithin(0, end - kept, end);
    }
  } catch {
    // Somebody else's, or gone.
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
