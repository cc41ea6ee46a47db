import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface ServerProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** The complete lines of stdout so far. */
  lines(): string[];
  stderr(): string;
  /** Resolves when a line of stdout contains this text. */
  seen(text: string): Promise<void>;
  /** Ends stdin and resolves with the exit code. */
  finish(): Promise<number | null>;
}

export function program(name: string): string {
  return fileURLToPath(new URL(`./programs/${name}`, import.meta.url));
}

/** Starts the echo server as a real child process. */
export function startServer(): ServerProcess {
  const child = spawn(process.execPath, [program("echo-server.mjs")]);
  const waiting = new Map<string, () => void>();
  const lines: string[] = [];
  let partial = "";
  let stderr = "";
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const parts = (partial + chunk).split("\n");
    partial = parts.pop() ?? "";
    for (const line of parts) {
      lines.push(line);
      for (const [text, resolve] of waiting) {
        if (line.includes(text)) resolve();
      }
    }
  });
  const exited = new Promise<number | null>((resolve) => child.once("close", resolve));
  return {
    child,
    lines: () => lines,
    stderr: () => stderr,
    seen: (text) =>
      new Promise((resolve, reject) => {
        if (lines.some((line) => line.includes(text))) return resolve();
        waiting.set(text, resolve);
        void exited.then((code) => reject(new Error(`server exited with ${code} before ${text}: ${stderr}`)));
      }),
    finish() {
      child.stdin.end();
      return exited;
    },
  };
}
