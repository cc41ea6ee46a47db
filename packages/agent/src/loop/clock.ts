/** Time, as an effect: monotonic milliseconds, and waiting that a signal can end. */
import { startTimer } from "@chimera/acp-schema/timer";

export interface Clock {
  now(): number;
  /** Rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = (): void => {
        timer.stop();
        reject(signal.reason);
      };
      if (signal.aborted) return reject(signal.reason);
      const timer = startTimer(ms, () => {
        signal.removeEventListener("abort", stop);
        resolve();
      });
      signal.addEventListener("abort", stop, { once: true });
    }),
};
