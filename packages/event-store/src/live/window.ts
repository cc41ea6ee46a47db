import { LIMITS } from "../limits.js";
import type { Entry, EventBody } from "../types.js";

/** The bytes that all windows of a process may hold together. */
export interface WindowBudget {
  used: number;
  readonly limit: number;
}

export function createWindowBudget(limit: number = LIMITS.windowBytesPerProcess): WindowBudget {
  return { used: 0, limit };
}

/** The most recent entries of one log, for readers that are a little behind; who is further behind re-reads the store. */
export interface RecentWindow<E extends EventBody> {
  push(batch: readonly Entry<E>[]): void;
  /** The entries after `cursor`, up to about `maxBytes`; null when they are no longer (or not yet) here. */
  after(cursor: number, maxBytes: number): readonly Entry<E>[] | null;
  clear(): void;
}

export function createWindow<E extends EventBody>(
  budget: WindowBudget,
  limit: number = LIMITS.windowBytesPerSession,
): RecentWindow<E> {
  let entries: Entry<E>[] = [];
  let start = 0;
  let bytes = 0;

  const clear = (): void => {
    budget.used -= bytes;
    entries = [];
    start = 0;
    bytes = 0;
  };

  const dropOldest = (): void => {
    const size = entries[start++]!.line.length;
    bytes -= size;
    budget.used -= size;
    if (start > 1024 && start * 2 > entries.length) {
      entries = entries.slice(start);
      start = 0;
    }
  };

  return {
    clear,
    push(batch) {
      for (const entry of batch) {
        entries.push(entry);
        bytes += entry.line.length;
        budget.used += entry.line.length;
      }
      while (bytes > limit && start < entries.length) dropOldest();
      if (budget.used > budget.limit) clear();
    },
    after(cursor, maxBytes) {
      const first = entries[start];
      if (first === undefined || cursor + 1 < first.seq) return null;
      let at = start;
      // Numbers are contiguous unless a record was damaged, so the guess is nearly always the place.
      at = Math.min(start + (cursor + 1 - first.seq), entries.length);
      while (at > start && entries[at - 1]!.seq > cursor) at--;
      let end = at;
      for (let size = 0; end < entries.length && (size < maxBytes || end === at); end++)
        size += entries[end]!.line.length;
      return at === end ? null : entries.slice(at, end);
    },
  };
}
