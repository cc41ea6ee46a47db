#!/usr/bin/env node
// The lockfile names no address: it installs from whatever registry the reader uses.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runGate } from "./gate.mjs";

/** @returns {Promise<{ problems: string[], summary: string }>} */
export async function checkLockfile(root) {
  const lines = readFileSync(join(root, "pnpm-lock.yaml"), "utf8").split("\n");
  const problems = lines.flatMap((line, index) =>
    /\w+:\/\/|\btarball:/.test(line) ? [`pnpm-lock.yaml:${index + 1} holds an address: ${line.trim()}`] : [],
  );
  return { problems, summary: `${lines.length} lines, no address` };
}

await runGate(import.meta, checkLockfile);
