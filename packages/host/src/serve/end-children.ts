/** Kills what this process has started and not ended, each child with its whole group: for an end that cannot wait. */
import { readdirSync, readFileSync } from "node:fs";

export function endChildren(process: NodeJS.Process): void {
  for (const pid of childrenOf(process)) {
    // A child that leads no group is killed alone.
    if (!kill(process, -pid)) kill(process, pid);
  }
}

// --- internal ---

function childrenOf(process: NodeJS.Process): number[] {
  try {
    const list = process.platform === "linux" ? fromProc() : fromPgrep(process.pid);
    return list
      .split(/\s+/)
      .map(Number)
      .filter((pid) => pid > 1);
  } catch {
    // Not told on this system, or there are none.
    return [];
  }
}

function fromProc(): string {
  const threads = readdirSync("/proc/self/task");
  return threads.map((thread) => readFileSync(`/proc/self/task/${thread}/children`, "utf8")).join(" ");
}

function fromPgrep(parent: number): string {
  // Loaded here alone: no start should pay for it.
  const { execFileSync } = process.getBuiltinModule("node:child_process");
  return execFileSync("pgrep", ["-P", String(parent)], {
    encoding: "utf8",
    timeout: 1000,
    stdio: ["ignore", "pipe", "ignore"],
  });
}

function kill(process: NodeJS.Process, pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}
