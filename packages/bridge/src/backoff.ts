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

export function createBackoff({ firstMs = 5_000, maxMs = 60_000 }: BackoffLimits = {}): Backoff {
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
