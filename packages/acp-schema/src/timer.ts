/** `@chimera/acp-schema/timer`: waits of any length. A platform timer has 32 bits, and with a longer delay it fires at once. */

/** The longest delay of one platform timer in milliseconds, which is 24.8 days. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * How many milliseconds to wait before the next attempt: twice as long after each further failure. With a random number from 0 to 1 it
 * is between the half and the whole, so that those who failed at the same moment do not all come back at the same moment.
 *
 * @example
 * const waitMs = backoff(2, 100, 5000); // 400
 */
export function backoff(failuresBefore: number, firstMs: number, longestMs: number, random = 1): number {
  return Math.min(longestMs, firstMs * 2 ** failuresBefore) * (0.5 + random / 2);
}

export interface Timer {
  stop(): void;
}

/**
 * Returns the value if it is a delay: a finite number of at least 0, in milliseconds or seconds.
 *
 * @param name the name of the value in the message.
 * @throws RangeError for a negative number, NaN, Infinity, and everything that is not a number.
 *
 * @example
 * const ttlSeconds = requireDelay("--session-ttl", Number(word));
 */
export function requireDelay(name: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  const given = typeof value === "string" ? JSON.stringify(value) : String(value);
  throw new RangeError(`${name} takes a finite number of at least 0, not ${given}`);
}

/**
 * Calls `done` after any number of milliseconds; after Infinity, never.
 *
 * @throws RangeError for every other value that `requireDelay` refuses.
 * @example
 * const timer = startTimer(30 * 24 * 3600 * 1000, () => console.log("a month has passed"));
 * timer.stop();
 */
export function startTimer(ms: number, done: () => void): Timer {
  let running: ReturnType<typeof setTimeout>;
  const wait = (left: number): void => {
    const now = Math.min(left, LONGEST_TIMER_MS);
    running = setTimeout(() => (left > now ? wait(left - now) : done()), now);
  };
  wait(ms === Number.POSITIVE_INFINITY ? ms : requireDelay("ms", ms));
  return { stop: () => clearTimeout(running) };
}

/**
 * A signal that aborts with `outer`, or after `ms` with a `TimeoutError`; `end` lets go of both. The timer keeps a reference to it, because
 * Node 20 may collect an `AbortSignal.any`, or the timer of an `AbortSignal.timeout`, before it fires.
 *
 * @example
 * const { signal, end } = startDeadline(5000);
 * const reply = await fetch("https://example.com", { signal }).finally(end);
 */
export function startDeadline(
  ms: number,
  outer?: AbortSignal,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const own = new AbortController();
  const timer = startTimer(ms, () => own.abort(new DOMException("the answer took too long", "TimeoutError")));
  const leave = (): void => own.abort(outer?.reason);
  outer?.addEventListener("abort", leave, { once: true });
  if (outer?.aborted) leave();
  const end = (): void => {
    timer.stop();
    outer?.removeEventListener("abort", leave);
  };
  return { signal: own.signal, end };
}
