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

/** Work in steps: each `yield` is a place where it may be interrupted for a while. */
export type Steps<T> = Generator<void, T>;

/** All steps at once. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Gives way between steps where it is time to. */
export async function paced<T>(steps: Steps<T>, pacer: Pacer): Promise<T> {
  try {
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
      const pause = pacer.pause();
      if (pause !== null) await pause;
    }
  } finally {
    // Closes what it holds open when it is stopped on the way.
    steps.return(undefined as T);
  }
}

/** Returns a function that runs one piece of work after the other; one that fails does not keep the next from its turn. */
export function createSerial(): <T>(work: () => Promise<T> | T) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => {});
    return result;
  };
}
