import { setImmediate } from "node:timers/promises";

/** Called between parts of long work: waits while the rest of the process goes on, whenever the work has had its share of time. */
export type GiveWay = () => Promise<void> | undefined;

const SHARE_MS = 10;

export function createPace(): GiveWay {
  let since = performance.now();
  return () => {
    if (performance.now() - since < SHARE_MS) return undefined;
    return setImmediate().then(() => {
      since = performance.now();
    });
  };
}
