/** Waits, or rejects with the signal's reason as soon as it is aborted. */
export function pause(ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    // The signal may outlive many pauses.
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", leave);
      resolve();
    }, ms);
    signal?.addEventListener("abort", leave, { once: true });
    if (signal?.aborted) leave();
  });
}

/** How long to wait before the next attempt: twice as long each time, up to five seconds, and spread, so that not all clients come at once. */
export function backoff(attempt: number, firstMs: number): number {
  return Math.min(5000, firstMs * 2 ** attempt) * (0.5 + Math.random() / 2);
}
