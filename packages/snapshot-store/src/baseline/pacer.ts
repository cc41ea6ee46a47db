/** Lets other work of the process in between long runs of synchronous file calls, which are far faster than asynchronous ones. */
export interface Pacer {
  /** A promise when it is time to give way, else null. */
  pause(): Promise<void> | null;
}

const SLICE_MS = 10;

export function createPacer(): Pacer {
  let started = performance.now();
  let calls = 0;
  return {
    pause() {
      calls += 1;
      if ((calls & 31) !== 0 || performance.now() - started < SLICE_MS) return null;
      return new Promise((resolve) =>
        setImmediate(() => {
          started = performance.now();
          resolve();
        }),
      );
    },
  };
}
