/** Time, passed in so that a schedule of minutes can be watched in a moment. */
import { setTimeout as wait } from "node:timers/promises";

export interface Clock {
  /** Resolves after `ms`, or at once when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  sleep: (ms, signal) => wait(ms, undefined, { signal }).catch(() => {}),
};
