// A child process run to its end, its output kept. One with a time limit is ended with everything it started: a grandchild
// that lives on would keep the output open, and the wait for its end would have none.
import { spawn } from "node:child_process";

/**
 * @param {string} command
 * @param {string[]} args
 * @param {import("node:child_process").SpawnOptions & { input?: string, timeout?: number }} [options]
 * @returns {Promise<{ code: number | null, stdout: string, stderr: string, output: string }>} `output` is both streams
 *   in the order they came
 */
export function run(command, args, { input, timeout, ...options } = {}) {
  const isGroup = timeout !== undefined && process.platform !== "win32";
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      ...options,
      detached: isGroup,
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    const text = { stdout: "", stderr: "", output: "" };
    for (const name of ["stdout", "stderr"]) {
      child[name].setEncoding("utf8").on("data", (chunk) => {
        text[name] += chunk;
        text.output += chunk;
      });
    }
    const overdue = timeout && setTimeout(() => process.kill(isGroup ? -child.pid : child.pid, "SIGKILL"), timeout);
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(overdue);
      resolve({ code, ...text });
    });
    child.stdin?.on("error", () => {}).end(input);
  });
}

/** Runs `work` over the items, at most `width` at once, and keeps their order. */
export async function mapConcurrently(items, width, work) {
  const results = [];
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
  return results;
}
