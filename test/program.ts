// A built program as a child process, ended with the test or with the file.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";
import { repositoryRoot, scratchTree } from "./scratch.js";

export interface Program {
  readonly child: ChildProcessWithoutNullStreams;
  /** The workspace it runs in. */
  readonly cwd: string;
  /** Where it keeps its data. */
  readonly home: string;
  /** Its exit code, once it has ended. */
  readonly exited: Promise<number | null>;
  /** Everything it wrote to stderr so far. */
  readonly stderr: () => string;
}

/** Takes what is to be done at the end; the last one given is the first one done. */
export type AtEnd = (cleanup: () => void | Promise<void>) => void;

export interface Surroundings {
  /** Workspace and data of another program, in place of fresh ones. */
  readonly cwd?: string;
  readonly home?: string;
  /** The user that runs the program, when it is not the user of the tests. */
  readonly uid?: number | undefined;
  /** When it is ended: with the test, unless the file has a scope of its own. */
  readonly atEnd?: AtEnd;
}

/** A scope that ends with the test file, for a program that its tests share. */
export function fileScope(): AtEnd {
  const cleanups: (() => void | Promise<void>)[] = [];
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });
  return (cleanup) => void cleanups.push(cleanup);
}

/** The built programs: of this tree, or of the checkout that CHIMERA_APPS names. */
const apps = process.env["CHIMERA_APPS"] ?? join(repositoryRoot, "apps");

/** Starts a program in a small workspace of its own, with no model key, so that the offline model answers. */
export function startProgram(
  name: "otter" | "ferret" | "chimera",
  args: string[],
  env: Record<string, string> = {},
  { atEnd = onTestFinished, ...given }: Surroundings = {},
): Program {
  const cwd = given.cwd ?? scratchTree({ "README.md": "# A workspace\n", "src/main.js": "export {};\n" }, atEnd);
  const home = given.home ?? scratchTree({}, atEnd);
  const child = spawn(process.execPath, [join(apps, name, "dist", "cli.js"), ...args], {
    cwd,
    env: { PATH: process.env["PATH"], HOME: cwd, CHIMERA_HOME: home, ...env },
    ...(given.uid !== undefined && { uid: given.uid, gid: given.uid }),
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const exited = once(child, "close").then(([code]) => code as number | null);
  atEnd(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await exited;
  });
  return { child, cwd, home, exited, stderr: () => stderr };
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
