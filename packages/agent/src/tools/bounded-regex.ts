/**
 * Regular expressions that a model wrote, with bounds of time and size: a pattern that backtracks for ever stops neither the
 * process nor another session. The bounds of size are counted, not caught: an engine that runs out of memory ends the process.
 */
import { startOf } from "@chimera/acp-schema/text";
import { AgentError } from "../errors.js";
import { MAX_TEXT_BYTES } from "../workspace.js";
import { type OffThreadOptions, offThread } from "./off-thread.js";

/** Longer patterns are not written, they are generated. */
const MAX_PATTERN = 20_000;
const MAX_MATCHES = 1_000_000;
/** An engine's complaint repeats the pattern. */
const MAX_REASON = 1000;

export interface FoundLine {
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
}

/** Replaces every match; `$1` and `$<name>` work as in JavaScript. */
export function replaceEvery(
  text: string,
  pattern: string,
  flags: string,
  replacement: string,
  signal: AbortSignal,
): Promise<{ readonly count: number; readonly text: string }> {
  const limits = { matches: MAX_MATCHES, chars: MAX_TEXT_BYTES };
  return bounded(pattern, replaceMatches, [text, pattern, `g${flags}`, replacement, limits], { signal });
}

/** The lines of a text file that match, as far as `room` characters go; a long line is cut. The bytes are handed over. */
export function matchingLines(
  bytes: Uint8Array<ArrayBuffer>,
  pattern: string,
  flags: string,
  room: { readonly chars: number; readonly line: number },
  signal: AbortSignal,
): Promise<FoundLine[]> {
  return bounded(pattern, findLines, [bytes, pattern, flags, room], { signal, transfer: [bytes.buffer] });
}

// --- internal ---

async function bounded<A extends readonly unknown[], R>(
  pattern: string,
  work: (...args: A) => R,
  args: A,
  options: OffThreadOptions,
): Promise<R> {
  if (pattern.length > MAX_PATTERN) throw unusable("it is too long");
  try {
    return await offThread(work, args, options);
  } catch (cause) {
    options.signal.throwIfAborted();
    throw unusable((cause as Error).message, cause);
  }
}

function unusable(reason: string, cause?: unknown): AgentError {
  return new AgentError("bad_pattern", `The pattern cannot be used: ${startOf(reason, MAX_REASON)}.`, { cause });
}

/** Runs on another thread: it must use nothing from outside. */
function replaceMatches(
  text: string,
  pattern: string,
  flags: string,
  replacement: string,
  limits: { readonly matches: number; readonly chars: number },
): { count: number; text: string } {
  const re = new RegExp(pattern, flags);
  const inserts = replacement.split("$").length - 1;
  // $` and $' stand for all that is before and after a match.
  const insertsRest = /\$[`']/.test(replacement);
  let count = 0;
  let most = text.length;
  for (const match of text.matchAll(re)) {
    const longest = insertsRest ? text.length : Math.max(...match.map((group) => group?.length ?? 0));
    count += 1;
    // What it grows by at most, and what remembering it costs.
    most += replacement.length + inserts * (longest + 8) + 16;
    if (count > limits.matches) throw new RangeError(`it matches at more than ${limits.matches} places`);
    if (most > 4 * limits.chars) throw new RangeError("the result would be too long");
  }
  const result = count === 0 ? text : text.replace(re, replacement);
  if (result.length > limits.chars) throw new RangeError("the result would be too long");
  return { count, text: count === 0 ? "" : result };
}

/** Runs on another thread: it must use nothing from outside. */
function findLines(
  bytes: Uint8Array,
  pattern: string,
  flags: string,
  room: { readonly chars: number; readonly line: number },
): { line: number; text: string }[] {
  const re = new RegExp(pattern, flags);
  const found: { line: number; text: string }[] = [];
  let left = room.chars;
  const lines = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).split(/\r?\n/);
  for (let at = 0; at < lines.length && left > 0; at += 1) {
    const line = lines[at] as string;
    if (!re.test(line)) continue;
    const text = line.slice(0, room.line);
    found.push({ line: at + 1, text });
    left -= text.length + 1;
  }
  return found;
}
