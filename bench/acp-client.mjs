// A program on stdio, asked and timed by a client that does as little as it can itself.
import { spawn } from "node:child_process";
import { once } from "node:events";

/**
 * Starts `node <args>`. A program that ends rejects every call that waits.
 *
 * @param {readonly string[]} args
 * @param {{ env: NodeJS.ProcessEnv, cwd?: string, timeout?: number }} options after `timeout` milliseconds it is ended
 */
export function startAcp(args, options) {
  const started = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"], ...options });
  const waiting = new Map();
  let wake = () => {};
  let last = 0;
  let rest = "";
  const take = (line) => {
    if (line.includes('"agent_message_chunk"')) return wake();
    const { id, method, result, error } = JSON.parse(line);
    if (method !== undefined || !waiting.has(id)) return;
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error) reject(new Error(error.message));
    else resolve(result);
  };
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line !== "") take(line);
  });
  child.stdin.on("error", () => {});
  const exited = once(child, "exit");
  exited.then(([code]) => {
    for (const { reject } of waiting.values()) reject(new Error(`${args.join(" ")} ended with ${code}`));
  });

  const call = (method, params) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  return {
    pid: child.pid,
    /** Milliseconds since it was started. */
    age: () => performance.now() - started,
    call,
    initialize: () => call("initialize", { protocolVersion: 1, clientCapabilities: {} }),
    async open(cwd) {
      return (await call("session/new", { cwd, mcpServers: [] })).sessionId;
    },
    /** A model of `chat-model.mjs` streams as many deltas as the prompt says. */
    prompt: (sessionId, text) => call("session/prompt", { sessionId, prompt: [{ type: "text", text: String(text) }] }),
    /** Resolves with the next piece of an answer. */
    chunk: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
    async end() {
      child.stdin.end();
      await exited;
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Milliseconds of a prompt of one delta, from its request to that delta. */
export async function firstChunk(program, sessionId) {
  const asked = performance.now();
  const chunk = program.chunk();
  const answered = program.prompt(sessionId, 1);
  await Promise.race([chunk, answered]);
  const elapsed = performance.now() - asked;
  await answered;
  return elapsed;
}
