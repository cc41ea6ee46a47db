/** Runs the built program in a home of its own and collects its output. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const OTTER = fileURLToPath(new URL("../../../apps/otter/dist/cli.js", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** The output so far. */
  said(): { stdout: string; stderr: string };
  /** Resolves when stderr contains the text. */
  until(text: string): Promise<void>;
}

export async function makeHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "chimera-host-"));
  onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 3 }));
  return home;
}

/** Starts `otter`, or another program; it is killed when the test ends. */
export function start(
  home: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; program?: string } = {},
): Running {
  const child = spawn(process.execPath, [options.program ?? OTTER, ...args], {
    cwd: options.cwd ?? home,
    env: { PATH: process.env["PATH"], HOME: home, CHIMERA_HOME: join(home, ".chimera"), ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  const watchers = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
      for (const look of watchers) look();
    });
  }
  const ended = new Promise<Ended>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal, ...said }));
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const until = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (said.stderr.includes(text)) resolve();
      };
      watchers.add(look);
      look();
      ended.then(() => reject(new Error(`ended without saying ${JSON.stringify(text)}: ${said.stderr}`)));
    });
  return { child, ended, said: () => ({ ...said }), until };
}

export function run(
  home: string,
  args: readonly string[],
  options?: { cwd?: string; env?: NodeJS.ProcessEnv },
): Promise<Ended> {
  const running = start(home, args, options);
  running.child.stdin?.end();
  return running.ended;
}

/** A server that answers requests. */
export async function startServer(home: string, port: number, ...flags: readonly string[]): Promise<Running> {
  const server = start(home, ["serve", "--port", String(port), ...flags]);
  await server.until("listening on");
  return server;
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
