/** A clock that stands still until the test moves it, and remembers its timers. */
import type { BridgeClock } from "../src/index.js";

export interface ManualClock extends BridgeClock {
  /** All sleeps so far, in milliseconds. */
  readonly asked: readonly number[];
  /** Ends the sleeps of this length. */
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

/** A clock without time: a limited number of sleeps end at once. */
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
