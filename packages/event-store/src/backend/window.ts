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
  /** The next entries after `cursor`, about 64 KiB of them; null when they are no longer (or not yet) here. */
  after(cursor: number): readonly Entry<E>[] | null;
  clear(): void;
}

/** Handed out as it is once it is full: what one reader makes of it serves all the others that come to it. */
interface RecentPage<E extends EventBody> {
  readonly entries: Entry<E>[];
  bytes: number;
}

export function createWindow<E extends EventBody>(
  budget: WindowBudget,
  limit: number = LIMITS.windowBytesPerSession,
): RecentWindow<E> {
  let pages: RecentPage<E>[] = [];
  let bytes = 0;

  const clear = (): void => {
    budget.used -= bytes;
    pages = [];
    bytes = 0;
  };

  const roomyPage = (): RecentPage<E> => {
    const last = pages.at(-1);
    if (last !== undefined && !isFull(last)) return last;
    const page = { entries: [], bytes: 0 };
    pages.push(page);
    return page;
  };

  return {
    clear,
    push(batch) {
      const before = bytes;
      for (const entry of batch) {
        const page = roomyPage();
        page.entries.push(entry);
        page.bytes += entry.line.length;
        bytes += entry.line.length;
      }
      while (bytes > limit) bytes -= pages.shift()!.bytes;
      budget.used += bytes - before;
      if (budget.used > budget.limit) clear();
    },
    after(cursor) {
      const oldest = pages[0]?.entries[0];
      if (oldest === undefined || cursor + 1 < oldest.seq) return null;
      const page = pages.find(({ entries }) => entries.at(-1)!.seq > cursor);
      if (page === undefined) return null;
      const at = page.entries.findIndex((entry) => entry.seq > cursor);
      return at === 0 && isFull(page) ? page.entries : page.entries.slice(at);
    },
  };
}

// --- internal ---

function isFull(page: { readonly bytes: number }): boolean {
  return page.bytes >= LIMITS.pageBytes;
}
