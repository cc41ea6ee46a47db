import { setImmediate } from "node:timers/promises";

/** Called between parts of long work. When the work has used its share of time, waits once, so that other work can run. */
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
