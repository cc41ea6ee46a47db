// A built program as a child process, ended with the test.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { repositoryRoot, scratchTree } from "./scratch.js";

export interface Program {
  readonly child: ChildProcessWithoutNullStreams;
  /** The workspace it runs in. */
  readonly cwd: string;
  /** Its exit code, once it has ended. */
  readonly exited: Promise<number | null>;
  /** Everything it wrote to stderr so far. */
  readonly stderr: () => string;
}

/** Starts `otter` or `ferret` in a small workspace of its own, with no model key, so that the offline model answers. */
export function startProgram(name: "otter" | "ferret", args: string[], env: Record<string, string> = {}): Program {
  const cwd = scratchTree({ "README.md": "# A workspace\n", "src/main.js": "export {};\n" });
  const child = spawn(process.execPath, [join(repositoryRoot, "apps", name, "dist", "cli.js"), ...args], {
    cwd,
    env: { PATH: process.env["PATH"], HOME: cwd, CHIMERA_HOME: scratchTree({}), ...env },
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const exited = once(child, "close").then(([code]) => code as number | null);
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await exited;
  });
  return { child, cwd, exited, stderr: () => stderr };
}

/** The address a server prints when it listens. */
export async function addressOf(program: Program): Promise<string> {
  for (;;) {
    const address = /https?:\/\/[^\s]+/.exec(program.stderr())?.[0];
    if (address) return address;
    if (program.child.exitCode !== null) throw new Error(`it ended before it listened: ${program.stderr()}`);
    await Promise.race([once(program.child.stderr, "data"), program.exited]);
  }
}
