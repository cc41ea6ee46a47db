/**
 * Regular expressions that a model wrote, with a time limit: a pattern that backtracks for ever must not stop the process.
 * `node:vm` can interrupt one; nothing else in plain Node can.
 */
import { AgentError } from "../errors.js";

const BUDGET_MS = 1000;

/** Replaces every match; `$1` and `$<name>` work as in JavaScript. */
export async function replaceEvery(text: string, pattern: string, flags: string, replacement: string) {
  const script =
    "let count = 0; const re = new RegExp(pattern, flags);" +
    "for (const _ of text.matchAll(re)) count += 1; ({ count, text: text.replace(re, replacement) })";
  return evaluate<{ count: number; text: string }>(script, { text, pattern, flags: `g${flags}`, replacement });
}

/** The 0-based numbers of the lines that match, at most `limit`. */
export async function matchingLines(lines: readonly string[], pattern: string, flags: string, limit: number) {
  const script =
    "const re = new RegExp(pattern, flags); const found = [];" +
    "for (let i = 0; i < lines.length && found.length < limit; i += 1) if (re.test(lines[i])) found.push(i); found";
  return evaluate<number[]>(script, { lines, pattern, flags, limit });
}

// --- internal ---

async function evaluate<T>(script: string, globals: Record<string, unknown>): Promise<T> {
  const { runInNewContext } = await import("node:vm");
  try {
    return runInNewContext(script, globals, { timeout: BUDGET_MS }) as T;
  } catch (cause) {
    const slow = (cause as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    const reason = slow ? `it took more than ${BUDGET_MS} ms` : (cause as Error).message;
    throw new AgentError("bad_pattern", `The pattern cannot be used: ${reason}.`, { cause });
  }
}
