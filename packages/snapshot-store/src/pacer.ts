/** Lets other work of the process in between long runs of synchronous file calls, which are far faster than asynchronous ones. */
export interface Pacer {
  /** A promise when it is time to give way, else null. It rejects when the work is to stop. */
  pause(): Promise<void> | null;
}

const SLICE_MS = 10;

export function createPacer(signal?: AbortSignal): Pacer {
  let started = performance.now();
  return {
    pause() {
      if (performance.now() - started < SLICE_MS) return null;
      return new Promise((resolve, reject) =>
        setImmediate(() => {
          started = performance.now();
          if (signal?.aborted) reject(signal.reason);
          else resolve();
        }),
      );
    },
  };
}
