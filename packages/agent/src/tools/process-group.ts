/** A child in a process group of its own, so that ending it ends everything it started. */
import { type ChildProcess, spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";

export interface GroupOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Open descriptors that the child inherits, the first as number 3. */
  readonly descriptors?: readonly number[];
  /** Whether the parent writes to it; without, its input is empty. */
  readonly input?: boolean;
}

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
  const child = spawn(file, [...args], {
    cwd: options.cwd,
    env: { ...options.env, [MARK]: mark },
    detached: process.platform !== "win32",
    stdio: [options.input ? "pipe" : "ignore", "pipe", "pipe", ...(options.descriptors ?? [])],
    windowsHide: true,
  });
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
      await killMarked(mark);
      await Promise.race([gone, pause(GRACE_MS)]);
    },
  };
}

// --- internal ---

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") spawn("taskkill", ["/pid", String(child.pid), "/T", "/F"], { stdio: "ignore" });
    else process.kill(-child.pid, name);
  } catch {
    // Nobody is left in the group.
  }
}

/** A child that made a session of its own is out of the group, but still carries the mark in its environment. */
async function killMarked(mark: string): Promise<void> {
  if (process.platform !== "linux") return;
  const wanted = Buffer.from(`${MARK}=${mark}`);
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`).catch(() => null);
      if (!environment?.includes(wanted)) return;
      try {
        process.kill(Number(pid), "SIGKILL");
      } catch {
        // Gone since it was seen.
      }
    }),
  );
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
