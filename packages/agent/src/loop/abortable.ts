/** Waiting for work that may not listen to its signal. */

/**
 * The work's own outcome, unless the signal aborts and the work does not settle within `graceMs` after that: then the
 * signal's reason is thrown and the work is left to itself.
 */
export function abortable<T>(work: PromiseLike<T>, signal: AbortSignal, graceMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const abandon = (): void => {
      timer = setTimeout(() => reject(signal.reason), graceMs);
    };
    const settle = (): void => {
      signal.removeEventListener("abort", abandon);
      clearTimeout(timer);
    };
    if (signal.aborted) abandon();
    else signal.addEventListener("abort", abandon, { once: true });
    work.then(
      (value) => {
        settle();
        resolve(value);
      },
      (error: unknown) => {
        settle();
        reject(error);
      },
    );
  });
}
