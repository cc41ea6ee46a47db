/** Interrupts long runs of synchronous file calls for other work. Synchronous calls are far faster than asynchronous ones. */
export interface Pacer {
  /** Returns a promise when it is time to give way, else null. The promise rejects when the work is aborted. */
  pause(): Promise<void> | null;
}

const SLICE_MS = 10;

/**
 * Lets long work give way to the event loop every few milliseconds.
 *
 * @example
 * const pacer = createPacer(signal);
 * for (const file of files) {
 *   hash(file);
 *   await pacer.pause();
 * }
 */
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

/** Work in steps: it may be interrupted at each `yield`. */
export type Steps<T> = Generator<void, T>;

/** Runs all steps without interruption. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Runs the steps and gives way between them when the pacer says so. */
export async function paced<T>(steps: Steps<T>, pacer: Pacer): Promise<T> {
  try {
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
      const pause = pacer.pause();
      if (pause !== null) await pause;
    }
  } finally {
    // If the work was stopped early, this runs its `finally` blocks, which close its files.
    steps.return(undefined as T);
  }
}

/**
 * Returns a function that runs pieces of work one after another; a failure does not stop the next one. As a lane of
 * `@chimera/acp-schema/promises`: this package depends on none.
 */
export function createSerial(): <T>(work: () => Promise<T> | T) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => {});
    return result;
  };
}
