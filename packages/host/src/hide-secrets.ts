/**
 * Every program of the same user, and so every command of this process, can read in /proc with which arguments and environment it was
 * started, even after a variable was deleted. On Linux this moves the secrets elsewhere in memory and overwrites the originals.
 */

import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import type { Invocation } from "./command/command.js";

const SECRET_NAME = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|_PAT$|_DSN$/i;
const SECRET_ADDRESS = /:\/\/[^/@]*:[^/@]*@/;

/** Returns false when a secret could not be overwritten. Without secrets it opens no file. */
export function hideSecrets({ flags, process }: Pick<Invocation, "flags" | "process">): boolean {
  const { env, platform } = process;
  const typed = Object.entries(flags).flatMap(([name, value]) => (/token$/.test(name) ? String(value) : []));
  const isSecret = (name: string, value = "") => SECRET_NAME.test(name) || SECRET_ADDRESS.test(value);
  const found = Object.entries(env).filter((entry) => isSecret(...entry));
  if (found.length === 0 && typed.length === 0) return true;
  if (platform !== "linux") return false;
  // Setting a variable moves its value to new memory.
  for (const [name, value] of found) env[name] = value;
  let memory: number | undefined;
  try {
    // Field numbers as in proc(5). Split after the last parenthesis, because the program's name may hold any character.
    const stat = readFileSync("/proc/self/stat", "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [argStart, argEnd, envStart, envEnd] = [48, 49, 50, 51].map((field) => Number(fields[field - 3]));
    memory = openSync("/proc/self/mem", "r+");
    overwrite(memory, envStart!, envEnd!, (name, value) => (isSecret(name, value) ? name.length + 1 : null));
    overwrite(memory, argStart!, argEnd!, (name, value, entry) =>
      typed.includes(entry) ? 0 : typed.includes(value) ? name.length + 1 : null,
    );
    return true;
  } catch {
    return false;
  } finally {
    if (memory !== undefined) closeSync(memory);
  }
}

// --- internal ---

/** @param keeps how many characters of an entry may stay; null for all. Names are ASCII, and entries end with NUL. */
function overwrite(
  memory: number,
  start: number,
  end: number,
  keeps: (name: string, value: string, entry: string) => number | null,
): void {
  const block = Buffer.alloc(end - start);
  readSync(memory, block, 0, block.length, start);
  for (let at = 0; at < block.length; ) {
    const next = block.indexOf(0, at);
    const stop = next < 0 ? block.length : next;
    const entry = block.toString("utf8", at, stop);
    const [name = ""] = entry.split("=", 1);
    const kept = keeps(name, entry.slice(name.length + 1), entry);
    if (kept !== null) writeSync(memory, Buffer.alloc(stop - at - kept, "x"), 0, stop - at - kept, start + at + kept);
    at = stop + 1;
  }
}
