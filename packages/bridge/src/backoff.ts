/** How long to wait before the next attempt: doubling from `firstMs` to `maxMs`, from the start again after a success. */
export interface BackoffLimits {
  /** @defaultValue 5000 */
  readonly firstMs?: number;
  /** @defaultValue 60000 */
  readonly maxMs?: number;
}

export interface Backoff {
  next(): number;
  reset(): void;
}

/** Throws a RangeError for times that are not finite numbers of at least 0: no wait at all would flood the remote. */
export function createBackoff(limits: BackoffLimits = {}): Backoff {
  const firstMs = delayOf("firstMs", limits.firstMs ?? 5_000);
  const maxMs = delayOf("maxMs", limits.maxMs ?? 60_000);
  let delay = firstMs;
  return {
    next() {
      const current = delay;
      delay = Math.min(delay * 2, maxMs);
      return current;
    },
    reset() {
      delay = firstMs;
    },
  };
}

// --- internal ---

/** A timer that is asked for more fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function delayOf(name: string, ms: number): number {
  if (!Number.isFinite(ms) || ms < 0) throw new RangeError(`backoff.${name} takes a finite number of at least 0`);
  return Math.min(ms, LONGEST_TIMER_MS);
}
