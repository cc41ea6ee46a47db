/** A person with a fresh home and a workspace, who types commands. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const PROGRAM = fileURLToPath(new URL("program.mjs", import.meta.url));

export interface Typed {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Person {
  readonly home: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Runs a command to its end. */
  type(args: readonly string[], options?: { input?: string; env?: NodeJS.ProcessEnv }): Promise<Typed>;
  start(args: readonly string[], env?: NodeJS.ProcessEnv): ChildProcessWithoutNullStreams;
  /** A script for the scripted model; returns the model's name. */
  script(turns: unknown, rest?: Record<string, unknown>): Promise<string>;
}

export async function createPerson(): Promise<Person> {
  const base = await mkdtemp(join(await realpath(tmpdir()), "cli-"));
  const [home, cwd] = [join(base, "home"), join(base, "work")];
  await Promise.all([home, cwd].map((path) => mkdir(path)));
  // A program may still be writing its last record after its terminal was closed.
  onTestFinished(() => rm(base, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));
  const env = { PATH: process.env["PATH"], HOME: home, USERPROFILE: home, CHIMERA_HOME: join(home, ".chimera") };
  let scripts = 0;
  const person: Person = {
    home,
    cwd,
    env,
    start: (args, more) => spawn(process.execPath, [PROGRAM, ...args], { cwd, env: { ...env, ...more } }),
    type(args, { input = "", env: more } = {}) {
      const child = person.start(args, more);
      child.stdin.on("error", () => {});
      child.stdin.end(input);
      return ended(child);
    },
    async script(turns, rest = {}) {
      const name = `script-${scripts++}.json`;
      await writeFile(join(base, name), JSON.stringify({ ...rest, turns }));
      return `scripted:../${name}`;
    },
  };
  return person;
}

export function ended(child: ChildProcessWithoutNullStreams): Promise<Typed> {
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, stdout, stderr })));
}

export const TOKEN = { OTTER_SERVER_TOKEN: "correct-horse-battery" };

/** Starts a server for this person; resolves to its port. */
export async function serve(person: Person, model: string, more: readonly string[] = []): Promise<number> {
  const child = person.start(["serve", "--port", "0", "--model", model, ...more], TOKEN);
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (text) => {
      said += text;
      const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1];
      if (port) resolve(Number(port));
    });
    child.once("exit", () => reject(new Error(`the server ended: ${said}`)));
  });
}
