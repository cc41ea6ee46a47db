/** A program as a child in a process group of its own, which ends with it. */
import { spawn } from "node:child_process";
import type { ChildProgram, ProgramStart } from "./program.js";

/** How long a program may take to end after its input was closed. */
const GRACE_MS = 500;

export function startChild({ command, args, env, cwd }: ProgramStart): ChildProgram {
  const isWindows = process.platform === "win32";
  const child = spawn(command, [...args], { cwd, env, detached: !isWindows, stdio: "pipe", windowsHide: true });
  child.stdin.on("error", () => {});
  const gone = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const kill = (signal: NodeJS.Signals) => {
    if (child.pid === undefined) return;
    try {
      process.kill(isWindows ? child.pid : -child.pid, signal);
    } catch {
      // Nobody is left in the group.
    }
  };
  return {
    pid: child.pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    gone,
    async end() {
      kill("SIGTERM");
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([gone, new Promise((resolve) => (timer = setTimeout(resolve, GRACE_MS)))]);
      clearTimeout(timer);
      kill("SIGKILL");
      await gone;
    },
  };
}
