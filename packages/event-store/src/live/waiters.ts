/** Promises that wait for a number to be reached. */
export interface Waiters {
  /** True when somebody waits for a number up to `seq`. */
  anyUpTo(seq: number): boolean;
  wait(seq: number): Promise<void>;
  reached(seq: number): void;
  /** Rejects those that wait for a number above `seq`. Returns whether there were any. */
  failAbove(seq: number, reason: unknown): boolean;
}

export function createWaiters(): Waiters {
  let waiting: { seq: number; resolve: () => void; reject: (reason: unknown) => void }[] = [];
  return {
    anyUpTo: (seq) => waiting.some((waiter) => waiter.seq <= seq),
    wait: (seq) => new Promise<void>((resolve, reject) => waiting.push({ seq, resolve, reject })),
    reached(seq) {
      if (waiting.length === 0) return;
      const due = waiting;
      waiting = [];
      for (const waiter of due) {
        if (waiter.seq <= seq) waiter.resolve();
        else waiting.push(waiter);
      }
    },
    failAbove(seq, reason) {
      const failed = waiting.filter((waiter) => waiter.seq > seq);
      waiting = waiting.filter((waiter) => waiter.seq <= seq);
      for (const waiter of failed) waiter.reject(reason);
      return failed.length > 0;
    },
  };
}
