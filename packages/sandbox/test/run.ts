import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { type Confined, isSandboxError, type SandboxError } from "../src/index.js";

/** Runs a confined command and returns its output. */
export async function run(confined: Confined): Promise<string> {
  const child = spawn(confined.file, confined.args, confined.options);
  let text = "";
  child.stdout?.on("data", (chunk) => {
    text += chunk;
  });
  await once(child, "close");
  confined.release();
  return text;
}

/** Returns the refusal; throws when there is none. */
export async function refusal(action: () => unknown): Promise<SandboxError> {
  try {
    await action();
  } catch (error) {
    if (isSandboxError(error)) return error;
    throw error;
  }
  throw new Error("not refused");
}

/** All processes of the machine whose command line contains `text`. */
export function processesWith(text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").startsWith(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}
