// A client of ACP that does as little as it can itself, and a program on stdio that it asks and times.
import { spawn } from "node:child_process";
import { once } from "node:events";

/**
 * Starts `node <args>`, or another `command`. A program that ends rejects every call that waits.
 *
 * @param {readonly string[]} args
 * @param {{ env: NodeJS.ProcessEnv, cwd?: string, timeout?: number, command?: string, detached?: boolean }} options after `timeout`
 *   milliseconds it is ended
 */
export function startAcp(args, { command = process.execPath, ...options }) {
  const started = performance.now();
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"], ...options });
  const { call, take, fail, chunk } = createCaller((line) => child.stdin.write(`${line}\n`));
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line !== "") take(line);
  });
  child.stdin.on("error", () => {});
  const exited = once(child, "exit");
  exited.then(([code]) => fail(new Error(`${args.join(" ")} ended with ${code}`)), fail);
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
    chunk,
    async end() {
      child.stdin.end();
      await exited;
    },
  };
}

/**
 * Calls over any channel of lines: `take` is given each line that comes, `fail` ends every call that waits.
 *
 * @param {(line: string) => void} send
 */
export function createCaller(send) {
  const waiting = new Map();
  let wake = () => {};
  let last = 0;
  return {
    call: (method, params) =>
      new Promise((resolve, reject) => {
        const id = ++last;
        waiting.set(id, { resolve, reject });
        send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      }),
    take(line) {
      if (line.includes('"agent_message_chunk"')) return wake();
      const { id, method, result, error } = JSON.parse(line);
      if (method !== undefined || !waiting.has(id)) return;
      const { resolve, reject } = waiting.get(id);
      waiting.delete(id);
      if (error) reject(new Error(error.message));
      else resolve(result);
    },
    fail(error) {
      for (const { reject } of waiting.values()) reject(error);
    },
    /** Resolves with the next piece of an answer. */
    chunk: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
  };
}

/** Milliseconds of a prompt of one delta, from its request to that delta. */
export async function firstChunk(program, sessionId, text = 1) {
  const asked = performance.now();
  const chunk = program.chunk();
  const answered = program.prompt(sessionId, text);
  await Promise.race([chunk, answered]);
  const elapsed = performance.now() - asked;
  await answered;
  return elapsed;
}
