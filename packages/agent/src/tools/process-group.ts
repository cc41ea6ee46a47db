/**
 * A child process in its own process group, with a mark in its environment that everything it starts inherits. Ending it ends all of
 * these, even those that moved to another group or session. Marks work only on Linux, and not for a program that clears its environment.
 */
import type { ChildProcess } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import type { Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { orElse } from "@chimera/acp-schema/lenient";
// Used instead of Node's spawn, which cannot start scripts on Windows, where many programs such as `npx` are scripts.
import spawn from "cross-spawn";

export interface ProcessGroup {
  readonly child: ChildProcess;
  /** Kills the rest of the group at once. Harmless when the group is empty. */
  sweep(): void;
  /** For a child that has ended: kills the processes that it left running, in its group or outside it. */
  reap(): Promise<void>;
  /** For a child that has ended: waits for its pipes to close, but not for long, because a process that escaped may hold them open. */
  drained(): Promise<void>;
  /** Asks the group to end, then kills it and the processes that left it. Resolves when the child has ended. */
  end(): Promise<void>;
}

/** How long a group may take to end on its own before it is killed. */
const GRACE_MS = 500;
/** How long to wait for more output after a child has ended. */
const DRAIN_MS = 200;
const MARK = "CHIMERA_GROUP";
/** In this time the system does not use up its process numbers, so all processes that a command starts have later numbers than it. */
const LAP_MS = 10_000;
const MAX_ROUNDS = 8;

/**
 * Starts a program in a process group of its own, so that everything it starts can be ended with it.
 *
 * @example
 * const group = spawnGroup("npm", ["test"], { cwd, env: cleanEnvironment(process.env) });
 */
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
    // The pipe stays open while the command runs. It is unref'd, so it does not keep this process alive.
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
    drained: () => drained(child),
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
  /** Open descriptors that the child inherits, numbered from 3. */
  readonly descriptors?: readonly number[];
  /** Whether the parent writes to its input. Otherwise the input is empty. */
  readonly input?: boolean;
  /** Whether the child ends even when this process is killed. Costs a shell; has no effect on Windows. */
  readonly lifeline?: boolean;
}

function drained(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer);
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve();
    };
    const timer = setTimeout(stop, DRAIN_MS);
    if (child.stdout?.closed !== false && child.stderr?.closed !== false) stop();
    else child.once("close", stop);
  });
}

/** Kills the processes with this text in their environment, and those that they start meanwhile. `first` limits it to younger ones. */
async function killMarked(text: string, first: number | null): Promise<void> {
  const wanted = Buffer.from(text);
  const killed = new Set<number>();
  for (let round = 0, before = -1; round < MAX_ROUNDS && before < killed.size; round += 1) {
    before = killed.size;
    for (const [index, pid] of processes(first).entries()) {
      if (index % SLICE === SLICE - 1) await nextTurn();
      if (killed.has(pid) || !carries(pid, wanted)) continue;
      killed.add(pid);
      // It may have ended meanwhile.
      orElse(() => process.kill(pid, "SIGKILL"), false);
    }
  }
}

/**
 * A shell script that starts the command together with an unmarked watcher. Only this process holds the other end of the watcher's pipe.
 * When that end closes, the watcher kills the marked processes and the group.
 */
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
    // The group is empty.
  }
}

/** Processes to check before other work may run: about a millisecond. */
const SLICE = 64;
/** The buffer for reading environments. `readFile` would allocate 64 KiB for each process, with every command. */
const page = Buffer.allocUnsafeSlow(16 * 1024);

/** Process ids, only those younger than `first` if given. The system assigns numbers in order and starts again after the highest. */
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
      // The text may begin in this part and end in the next.
      kept = Math.min(end, wanted.length - 1);
      page.copyWithin(0, end - kept, end);
    }
  } catch {
    // It belongs to another user, or has ended.
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
