/**
 * A child in a process group of its own, and with a mark in its environment that everything it starts inherits: ending it ends all of
 * that, also what made a group or a session of its own. Only Linux shows environments, and a program that empties its own is not found.
 */
import type { ChildProcess } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import type { Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
// On Windows most programs that people name, `npx` among them, are scripts that only a shell can start.
import spawn from "cross-spawn";

export interface ProcessGroup {
  readonly child: ChildProcess;
  /** Kills what is left of the group at once; harmless when nothing is. */
  sweep(): void;
  /** For a child that has ended: kills what it left running, in its group or out of it. */
  reap(): Promise<void>;
  /** Asks the group to end, then kills it and what left it. Resolves when the child is gone. */
  end(): Promise<void>;
}

/** How long a group may take to end on its own before it is killed. */
const GRACE_MS = 500;
const MARK = "CHIMERA_GROUP";
/** Within this time the system does not give out all its process numbers, so that what a command started has a later one than it. */
const LAP_MS = 10_000;
const MAX_ROUNDS = 8;

export function spawnGroup(file: string, args: readonly string[], options: GroupOptions): ProcessGroup {
  const mark = `${MARK}=${crypto.randomUUID()}`;
  const started = performance.now();
  const { descriptors = [], lifeline = false } = options;
  const isTied = lifeline && process.platform !== "win32";
  const fd = 3 + descriptors.length;
  const [program, list] = isTied ? ["/bin/sh", ["-c", tied(fd), "sh", mark, file, ...args]] : [file, [...args]];
  const child = spawn(program, list, {
    cwd: options.cwd,
    env: isTied ? options.env : { ...options.env, [MARK]: mark.slice(MARK.length + 1) },
    detached: process.platform !== "win32",
    stdio: [options.input ? "pipe" : "ignore", "pipe", "pipe", ...descriptors, ...(isTied ? (["pipe"] as const) : [])],
    windowsHide: true,
  });
  const signal = (name: NodeJS.Signals) => signalGroup(child, name);
  if (isTied) {
    // Held open for as long as the command runs, and no reason for this process to live.
    const line = child.stdio[fd] as Socket | undefined;
    line?.on("error", () => {}).unref();
    child.once("exit", () => {
      signal("SIGKILL");
      line?.destroy();
    });
  }
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const reap = async () => {
    signal("SIGKILL");
    const isRecent = performance.now() - started < LAP_MS;
    if (child.pid !== undefined) await killMarked(mark, isRecent ? child.pid : null);
  };
  return {
    child,
    sweep: () => signal("SIGKILL"),
    reap,
    end: async () => {
      signal("SIGTERM");
      await Promise.race([gone, pause(GRACE_MS, undefined, { ref: false })]);
      await reap();
      await Promise.race([gone, pause(GRACE_MS, undefined, { ref: false })]);
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

/** Kills processes with this text in their environment, and what they start meanwhile; only those younger than `first`, if given. */
async function killMarked(text: string, first: number | null): Promise<void> {
  const wanted = Buffer.from(text);
  const killed = new Set<number>();
  for (let round = 0, before = -1; round < MAX_ROUNDS && before < killed.size; round += 1) {
    before = killed.size;
    for (const [index, pid] of processes(first).entries()) {
      if (index % SLICE === SLICE - 1) await nextTurn();
      if (killed.has(pid) || !carries(pid, wanted)) continue;
      killed.add(pid);
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // Gone since it was seen.
      }
    }
  }
}

/** Leaves an unmarked process in the group that kills what is marked, and the group, when a pipe ends that only this process holds. */
function tied(fd: number): string {
  const marked = `for at in $(grep -lsF "$1" /proc/[0-9]*/environ); do at=\${at#/proc/}; kill -KILL \${at%/environ}; done`;
  const watcher = `(read -r _ <&${fd}; ${marked}; kill -KILL 0) </dev/null >/dev/null 2>&1 &`;
  return `${watcher} exec ${fd}<&-; export "$1"; shift; exec "$@"`;
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

/** Processes looked at between two turns of the event loop: about a millisecond of work. */
const SLICE = 64;
/** All environments are read through this page: `readFile` would take 64 KiB for each, with every command. */
const page = Buffer.allocUnsafeSlow(16 * 1024);

/** Numbers are given out in order and begin again at the top. */
function processes(first: number | null): number[] {
  if (process.platform !== "linux") return [];
  try {
    const last = Number(readFileSync("/proc/loadavg", "latin1").split(" ")[4]);
    const isYoung = (pid: number) => (first! < last ? pid > first! && pid <= last : pid > first! || pid <= last);
    const all = readdirSync("/proc").map(Number).filter(Number.isInteger);
    return first === null || !(last > 0) ? all : all.filter(isYoung);
  } catch {
    return [];
  }
}

function carries(pid: number, wanted: Buffer): boolean {
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
