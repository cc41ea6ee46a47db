/**
 * Runs long work on another thread, so that other sessions can continue. The work is a function that uses only its arguments, the globals
 * of JavaScript, and functions that are sent with it. It is sent as source text, because a bundled program has no file for a thread to
 * start from. Regular expressions from a model run there.
 */
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { createLanes } from "@chimera/acp-schema/promises";
import { startOf } from "@chimera/acp-schema/text";
import { AgentError } from "../errors.js";
import { MAX_TEXT_BYTES } from "../files/canonical-file.js";

const LIMIT_MS = 1000;
/** Most threads at once. Further work waits. A turn has at most one, so that it cannot use up all threads. */
const MOST_THREADS = 16;
/** A thread that was not used for this long ends. */
const IDLE_MS = 10_000;

/**
 * Resolves with the work's result, or rejects with its error. At the time limit it rejects with `too_slow`, and when the signal aborts
 * with its reason. In both cases the thread ends.
 *
 * @example
 * await offThread((text: string, pattern: string) => new RegExp(pattern).test(text), [text, pattern], { signal });
 */
export function offThread<A extends readonly unknown[], R>(
  work: (...args: A) => R,
  args: A,
  options: OffThreadOptions,
): Promise<R> {
  const source = `(() => {\n${(options.uses ?? []).join("\n")}\nreturn ${work};\n})()`;
  return inLane(options.signal, () => runOnThread<R>({ source, args }, options));
}

/** Most characters in a pattern. A longer one is generated, not written. */
const MAX_PATTERN = 20_000;
const MAX_MATCHES = 1_000_000;
/** Most characters of an error, because the engine's message repeats the pattern. */
const MAX_REASON = 1000;

/**
 * Replaces every match; `$1` and `$<name>` work as in JavaScript. A regular expression from a model has limits of time and size, so that
 * endless backtracking blocks neither the process nor another session. The size is counted in advance, because running out of memory
 * would end the process.
 */
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

/** Finds the matching lines of a text file, up to `room.chars` characters. Cuts long lines. Transfers the bytes to the thread. */
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

interface OffThreadOptions {
  readonly signal: AbortSignal;
  /** Milliseconds after which the thread ends. @defaultValue 1000 */
  readonly limitMs?: number;
  /** Function declarations of the same file that the work uses, by their names there. @defaultValue none */
  readonly uses?: readonly ((...args: never[]) => unknown)[];
  /** Buffers that are transferred to the thread, not copied. */
  readonly transfer?: readonly ArrayBuffer[];
}

interface FoundLine {
  /** Number of the line, from 1. */
  readonly line: number;
  readonly text: string;
}

interface Job {
  readonly source: string;
  readonly args: readonly unknown[];
}

type Reply<R> = { readonly value: R } | { readonly error: unknown };

/** The program of a thread: it runs the jobs that it receives, one after the other. */
const LISTEN = `
const { parentPort } = require("node:worker_threads");
parentPort.on("message", ({ source, args }) => {
  try {
    parentPort.postMessage({ value: (0, eval)(source)(...args) });
  } catch (error) {
    parentPort.postMessage({ error });
  }
});`;

/** One lane for each turn, by its signal. */
const { inLane } = createLanes<AbortSignal>();
/** Thread without work -> timer that ends it. */
const idle = new Map<Worker, NodeJS.Timeout>();
const waiting: (() => void)[] = [];
let busy = 0;

async function runOnThread<R>(job: Job, options: OffThreadOptions): Promise<R> {
  if (busy >= MOST_THREADS) await new Promise<void>((resolve) => waiting.push(resolve));
  busy += 1;
  try {
    const thread = takeIdle() ?? (await startThread());
    const reply = await replyOf<R>(thread, job, options).catch((error: unknown) => {
      void thread.terminate();
      throw error;
    });
    keepForLater(thread);
    if ("error" in reply) throw reply.error;
    return reply.value;
  } finally {
    busy -= 1;
    waiting.shift()?.();
  }
}

async function startThread(): Promise<Worker> {
  const { Worker } = await import("node:worker_threads");
  // Without the program's own flags and variables, so that the thread preloads nothing.
  const thread = new Worker(LISTEN, { eval: true, execArgv: [], env: {}, name: "chimera-work" });
  // An idle thread that fails is just not used again.
  thread.on("error", () => {});
  thread.once("exit", () => forget(thread));
  await once(thread, "online");
  return thread;
}

/** Takes an idle thread. A working thread keeps the process alive; an idle one does not. */
function takeIdle(): Worker | undefined {
  const [thread] = idle.keys();
  if (!thread) return undefined;
  forget(thread);
  thread.ref();
  return thread;
}

function keepForLater(thread: Worker): void {
  thread.unref();
  idle.set(thread, setTimeout(() => void thread.terminate(), IDLE_MS).unref());
}

function forget(thread: Worker): void {
  clearTimeout(idle.get(thread));
  idle.delete(thread);
}

/** Waits for the first of: the thread's answer, the time limit, the signal, or the end of the thread. */
async function replyOf<R>(thread: Worker, job: Job, options: OffThreadOptions): Promise<Reply<R>> {
  const { limitMs = LIMIT_MS, signal, transfer = [] } = options;
  signal.throwIfAborted();
  const settled = new AbortController();
  const until = { signal: settled.signal };
  const fail = (error: () => unknown) => () => Promise.reject(error());
  try {
    const answered = once(thread, "message", until) as Promise<[Reply<R>]>;
    thread.postMessage(job, [...transfer]);
    const [reply] = await Promise.race([
      answered,
      once(thread, "exit", until).then(fail(() => new AgentError("internal", "the thread ended"))),
      once(signal, "abort", until).then(fail(() => signal.reason)),
      pause(limitMs, null, until).then(fail(() => new AgentError("too_slow", `it took more than ${limitMs} ms`))),
    ]);
    return reply;
  } finally {
    settled.abort();
  }
}

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

/** Runs on another thread, so it must not use anything from outside. */
function replaceMatches(
  text: string,
  pattern: string,
  flags: string,
  replacement: string,
  limits: { readonly matches: number; readonly chars: number },
): { count: number; text: string } {
  const re = new RegExp(pattern, flags);
  const inserts = replacement.split("$").length - 1;
  // $` and $' insert all text before or after a match.
  const insertsRest = /\$[`']/.test(replacement);
  let count = 0;
  let most = text.length;
  for (const match of text.matchAll(re)) {
    const longest = insertsRest ? text.length : Math.max(...match.map((group) => group?.length ?? 0));
    count += 1;
    // Add the most that this match can add to the result, and the cost of keeping the match.
    most += replacement.length + inserts * (longest + 8) + 16;
    if (count > limits.matches) throw new RangeError(`it matches at more than ${limits.matches} places`);
    if (most > 4 * limits.chars) throw new RangeError("the result would be too long");
  }
  const result = count === 0 ? text : text.replace(re, replacement);
  if (result.length > limits.chars) throw new RangeError("the result would be too long");
  return { count, text: count === 0 ? "" : result };
}

/** Runs on another thread, so it must not use anything from outside. */
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
