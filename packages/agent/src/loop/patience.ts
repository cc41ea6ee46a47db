/** Waiting: the clock as an effect, work that may ignore its abort signal, and the pauses between retries of a model request. */
import { setTimeout as pause } from "node:timers/promises";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { backoff, startDeadline } from "@chimera/acp-schema/timer";
import { AgentError } from "../errors.js";

/** Time as an effect: monotonic milliseconds, and a sleep that a signal can end. */
export interface Clock {
  now(): number;
  /** Rejects when the signal aborts first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) => pause(ms, undefined, { signal }),
};

/** Waits for the work. Rejects with the signal's reason if the signal aborts and the work has not settled `graceMs` later. */
export async function abortable<T>(work: PromiseLike<T>, signal: AbortSignal, graceMs: number): Promise<T> {
  const patience = createPatience(signal, graceMs);
  try {
    return await patience.wait(work);
  } finally {
    patience.end();
  }
}

/** The same for several pieces of work, one after the other, with a single listener. */
export function createPatience(signal: AbortSignal, graceMs: number) {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  let abandon: (reason: unknown) => void = () => {};
  const onAbort = (): void => {
    timer = setTimeout(() => {
      isOver = true;
      abandon(signal.reason);
    }, graceMs);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return {
    wait: <T>(work: PromiseLike<T>) =>
      new Promise<T>((resolve, reject) => {
        abandon = reject;
        work.then(resolve, reject);
        if (isOver) reject(signal.reason);
      }),
    /** Stops listening to the signal. */
    end() {
      signal.removeEventListener("abort", onAbort);
      clearTimeout(timer);
    },
  };
}

/** Resolves when the work ends, when the time is over, or when the signal aborts, whichever comes first. */
export function within(ms: number, signal: AbortSignal, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
    work.then(done, done);
  });
}

/** Aborts when any source aborts. Uses listeners, because Node 20 may collect an `AbortSignal.any` before it fires. */
export function link(...sources: readonly AbortSignal[]): Linked {
  const own = new AbortController();
  const onAbort = () => own.abort(sources.find((source) => source.aborted)?.reason);
  const unlink = () => {
    for (const source of sources) source.removeEventListener("abort", onAbort);
  };
  for (const source of sources) source.addEventListener("abort", onAbort, { once: true });
  if (sources.some((source) => source.aborted)) onAbort();
  return { signal: own.signal, unlink };
}

/** Runs `use` with a signal that also aborts after `ms`, with a `TimeoutError`. */
export async function withDeadline<T>(
  outer: AbortSignal,
  ms: number,
  use: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, end } = startDeadline(ms, outer);
  try {
    return await use(signal);
  } finally {
    end();
  }
}

/** Most attempts for one reply. With the pauses between them they take about two minutes. */
const ATTEMPTS = 10;
/** Fewer attempts for a reply that stopped arriving, because each attempt is paid for. */
const STALLED_ATTEMPTS = 3;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** If the provider asks for a longer wait than this, the turn ends with its error instead. */
const LONGEST_RETRY_AFTER_MS = 600_000;

/** Counts the failures of one reply. */
export type Failures = ReturnType<typeof noFailures>;

export function noFailures() {
  return { all: 0, stalled: 0 };
}

/** The parts of a turn that waiting needs. */
interface Waiter {
  readonly emit: (event: AgentEvent) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Resolves when it is time for the next attempt. Throws the error when another attempt cannot help, or when all are used. */
export async function waitToRetry(
  run: Waiter,
  error: AgentError,
  failures: Failures,
  plan = "trying again",
): Promise<void> {
  const stalled = error.code === "stalled";
  failures.all++;
  if (stalled) failures.stalled++;
  const most = stalled ? STALLED_ATTEMPTS : ATTEMPTS;
  const times = stalled ? failures.stalled : failures.all;
  const asked = error.retryAfterMs ?? 0;
  if (!error.retryable || times >= most || failures.all >= ATTEMPTS) throw error;
  if (asked > LONGEST_RETRY_AFTER_MS) throw tooLong(error, asked);
  const wait = asked > 0 ? asked : backoff(failures.all - 1, FIRST_WAIT_MS, LONGEST_WAIT_MS, run.random());
  const text = `${error.message}; ${plan} in ${(wait / 1000).toFixed(1)} s (${times} of ${most - 1})`;
  run.emit({ type: "notice", metadata: { level: "warning", text } });
  await run.clock.sleep(wait, run.signal);
}

// --- internal ---

interface Linked {
  readonly signal: AbortSignal;
  /** Stops listening to the sources. */
  unlink(): void;
}

function tooLong(error: AgentError, asked: number): AgentError {
  const message = `${error.message}; it asks to wait for ${Math.ceil(asked / 60_000)} minutes`;
  return new AgentError(error.code, message, { cause: error, retryAfterMs: asked });
}
