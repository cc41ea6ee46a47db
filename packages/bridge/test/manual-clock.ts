/** A clock that stands still until the test moves it, and remembers which timers were asked for. */
import type { Clock } from "../src/index.js";

export interface ManualClock extends Clock {
  /** Every sleep asked for, in milliseconds. */
  readonly asked: readonly number[];
  /** Ends the sleeps of that length. */
  pass(ms: number): void;
}

export function createManualClock(): ManualClock {
  const asked: number[] = [];
  const sleepers = new Set<{ ms: number; wake: () => void }>();
  return {
    asked,
    sleep(ms, signal) {
      asked.push(ms);
      return new Promise((resolve) => {
        const sleeper = { ms, wake: resolve };
        sleepers.add(sleeper);
        signal.addEventListener("abort", () => resolve());
        if (signal.aborted) resolve();
      });
    },
    pass(ms) {
      for (const sleeper of sleepers) {
        if (sleeper.ms !== ms) continue;
        sleepers.delete(sleeper);
        sleeper.wake();
      }
    },
  };
}

/** A clock on which no time passes: every sleep is over at once, up to a number of them. */
export function createHastyClock(limit: number, onLimit: () => void): ManualClock {
  const asked: number[] = [];
  return {
    asked,
    pass() {},
    async sleep(ms) {
      asked.push(ms);
      if (asked.length === limit) onLimit();
    },
  };
}
