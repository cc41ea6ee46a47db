/** `@chimera/client/node`: starts a server that belongs to your program. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient } from "./client.js";

export interface StartOptions {
  /** @defaultValue otter */
  readonly command?: string;
  /** Arguments before `serve`, such as a script for `command: "node"`. @defaultValue none */
  readonly script?: readonly string[];
  /** Arguments after `serve --port 0`, such as `--model`. @defaultValue none */
  readonly args?: readonly string[];
  /** The whole environment of the server. @defaultValue this process's */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Ends the server. */
  readonly signal?: AbortSignal;
}

export interface StartedServer {
  readonly url: string;
  readonly token: string;
  readonly client: Client;
  readonly pid: number;
  /** Asks the server to end, and resolves when it has. After ten seconds it is killed. */
  close(): Promise<void>;
}

/**
 * Starts a server on a free port of this machine, with a new secret token. If it does not start, throws an error with its stderr.
 *
 * @example
 * const server = await startServer({ args: ["--model", "offline"] });
 * const session = await server.client.sessions.start("list files");
 * console.log((await session.turn(0).result()).output);
 * await server.close();
 */
export async function startServer(options: StartOptions = {}): Promise<StartedServer> {
  const { command = "otter", script = [], args = [], env, cwd, signal } = options;
  const token = crypto.randomUUID();
  // Pass the token in a file, because other users could read a command line or an environment.
  const folder = await mkdtemp(join(tmpdir(), "chimera-client-"));
  const file = join(folder, "token");
  await writeFile(file, token, { mode: 0o600 });
  const child = spawn(command, [...script, "serve", "--http", "--port", "0", "--auth-token-file", file, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
    ...(cwd !== undefined && { cwd }),
    ...(env && { env }),
    ...(signal && { signal }),
  });
  const exited = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("close", () => resolve());
  }).then(() => rm(folder, { recursive: true, force: true }));
  const close = async () => {
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
    await exited;
    clearTimeout(late);
  };
  const url = await new Promise<string>((resolve, reject) => {
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-10_000);
      const found = /listening on (https?:\/\/\S+)/.exec(said)?.[1];
      if (found) resolve(found);
    });
    child.once("error", reject);
    child.once("close", () => reject(new Error(`${command} serve ended before it listened: ${said.trim()}`)));
  });
  return { url, token, client: createClient({ url, token }), pid: child.pid ?? 0, close };
}
