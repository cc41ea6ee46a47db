import { PAST_THE_END, parseCursor } from "../cursor.js";
import { LIMITS } from "../limits.js";
import type { Entry, EventBody, LogEntry, Position, Reader, SubscribeOptions, Subscription } from "../types.js";
import { lastOf } from "./line.js";
import type { Replay } from "./replay.js";
import { withResolvers } from "./waiters.js";

export type Broadcast<E extends EventBody> = ReturnType<typeof createBroadcast<E>>;

interface Follower<E extends EventBody> {
  cursor: number;
  busy: boolean;
  closed: boolean;
  readonly reader: Reader<E>;
  finish(reason?: unknown): void;
}

const UNKNOWN = -1;
const LIVE: Position = { live: true };
const BEHIND: Position = { live: false };

/** One log's readers in this process. Each has a cursor: it gets live entries while it keeps up, and re-reads the store when it fell behind. */
export function createBroadcast<E extends EventBody>(options: {
  readonly budget: WindowBudget;
  /** Reads the store, for readers that fell behind. */
  readonly source: Replay<E>;
  /** The last number given out, which may be ahead of what readers may see already. */
  readonly lastSeq: () => number;
  /** Reads from the store where the log ends: another process may have written records that this one has not seen yet. */
  readonly storedHead: () => Promise<number>;
  /** Called when the last reader left. */
  readonly onIdle: () => unknown;
}) {
  const { source, onIdle } = options;
  const followers = new Set<Follower<E>>();
  const window = createWindow<E>(options.budget);
  /** The last number readers may see; -1 until that is known. */
  let head = UNKNOWN;
  const known = withResolvers();

  /** Hands a batch over. Returns a promise only when the reader asked to wait. */
  const give = (follower: Follower<E>, batch: readonly LogEntry<E>[]): void | Promise<void> => {
    follower.cursor = lastOf(batch[batch.length - 1]!);
    return follower.reader(batch, follower.cursor >= head ? LIVE : BEHIND);
  };

  /** A separate function, so that the batch can be freed while the reader waits. Null when the follower is further behind. */
  const giveRecent = (follower: Follower<E>): { readonly given: void | Promise<void> } | null => {
    const recent = window.after(follower.cursor);
    return recent === null ? null : { given: give(follower, recent) };
  };

  const catchUp = async (follower: Follower<E>): Promise<void> => {
    const isOver = (): boolean => follower.closed;
    while (!follower.closed && follower.cursor < head) {
      const recent = giveRecent(follower);
      if (recent !== null) {
        await recent.given;
        continue;
      }
      const target = head;
      await source({ from: follower.cursor, to: target, isOver }, (batch) => give(follower, batch));
      // Report records the store cannot return as lost, and continue.
      if (follower.closed || follower.cursor >= target) continue;
      await give(follower, [{ type: "lost", seq: follower.cursor + 1, last: target, reason: "missing" }]);
    }
  };

  const settle = (follower: Follower<E>, work: Promise<void>): void => {
    follower.busy = true;
    work.then(
      () => {
        follower.busy = false;
        if (!follower.closed && follower.cursor < head) settle(follower, catchUp(follower));
      },
      (reason: unknown) => follower.finish(reason ?? new Error("the reader failed")),
    );
  };

  /** True when the follower took the batch. */
  const push = (follower: Follower<E>, batch: readonly Entry<E>[]): boolean => {
    if (follower.busy || follower.cursor + 1 < batch[0]!.seq) return false;
    const unseen = follower.cursor < batch[0]!.seq ? batch : batch.filter((entry) => entry.seq > follower.cursor);
    if (unseen.length === 0) return true;
    try {
      const pending = give(follower, unseen);
      if (typeof pending?.then === "function") settle(follower, pending);
    } catch (reason) {
      follower.finish(reason ?? new Error("the reader failed"));
    }
    return true;
  };

  /** Moves the head without its entries, so that readers fetch them from the store. New readers wait until the head is known. */
  const advance = (written: number): void => {
    if (written <= head) return;
    head = written;
    known.resolve();
    window.clear();
    for (const follower of followers) if (!follower.busy) settle(follower, catchUp(follower));
  };

  const begin = async (follower: Follower<E>, from: number | "live"): Promise<void> => {
    if (head === UNKNOWN) await known.promise;
    const wanted = from === "live" ? head : parseCursor(from);
    let end = Math.max(head, options.lastSeq());
    // The cursor may come from another process whose records have not arrived here, so check the store. PAST_THE_END asks for none.
    if (wanted > end && wanted !== PAST_THE_END) {
      const stored = await options.storedHead();
      advance(stored);
      end = Math.max(end, stored);
    }
    // A cursor past the end means live entries only, not silence until the log has grown that far.
    follower.cursor = Math.min(wanted, end);
    await catchUp(follower);
  };

  return {
    get readers() {
      return followers.size;
    },
    /** Moves the head over a batch that is in the store already, and hands it to every reader that waits for it. */
    publish(batch: readonly Entry<E>[]) {
      const last = batch[batch.length - 1]!.seq;
      if (head === UNKNOWN) return advance(last);
      // Numbers are missing within the batch: readers get the lost records from the store.
      if (last - batch[0]!.seq >= batch.length) return advance(last);
      // `advance` has moved the head past these meanwhile: readers have fetched them, or will.
      if (last <= head) return;
      head = last;
      let behind = false;
      for (const follower of followers) if (!push(follower, batch)) behind = true;
      if (behind) {
        window.push(batch);
        for (const follower of followers)
          if (!follower.busy && follower.cursor < head) settle(follower, catchUp(follower));
      } else window.clear();
    },
    advance,
    subscribe({ from, signal }: SubscribeOptions, reader: Reader<E>): Subscription {
      const { promise: ended, resolve, reject } = withResolvers();
      // A caller that does not look at `ended` must not bring the process down.
      ended.catch(() => {});
      const follower: Follower<E> = {
        cursor: 0,
        busy: true,
        closed: false,
        reader,
        finish(reason) {
          if (follower.closed) return;
          follower.closed = true;
          followers.delete(follower);
          signal?.removeEventListener("abort", close);
          if (reason === undefined) resolve();
          else reject(reason);
          if (followers.size === 0) {
            window.clear();
            onIdle();
          }
        },
      };
      const close = (): void => follower.finish();
      followers.add(follower);
      if (signal?.aborted) close();
      else {
        signal?.addEventListener("abort", close, { once: true });
        settle(follower, begin(follower, from));
      }
      return {
        get cursor() {
          return follower.cursor;
        },
        ended,
        close,
      };
    },
    /** Ends every reader: normally, or with the reason. */
    end(reason?: unknown) {
      for (const follower of [...followers]) follower.finish(reason);
      window.clear();
    },
  };
}

/** A subscription that could not begin. */
export function refused(error: unknown): Subscription {
  const ended = Promise.reject(error);
  ended.catch(() => {});
  return { cursor: 0, ended, close() {} };
}

/** The bytes that all windows of a process may hold together. */
export interface WindowBudget {
  used: number;
}

// --- internal ---

const isFull = (page: { readonly bytes: number }): boolean => page.bytes >= LIMITS.pageBytes;

/** Once a page is full, every reader gets the same array, so that they share whatever one of them derives from it. */
interface RecentPage<E extends EventBody> {
  readonly entries: Entry<E>[];
  bytes: number;
}

/** The most recent entries of one log, for readers that are a little behind; a reader that is further behind re-reads the store. */
function createWindow<E extends EventBody>(budget: WindowBudget) {
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
    push(batch: readonly Entry<E>[]) {
      const before = bytes;
      for (const entry of batch) {
        const page = roomyPage();
        page.entries.push(entry);
        page.bytes += entry.line.length;
        bytes += entry.line.length;
      }
      while (bytes > LIMITS.windowBytesPerSession) bytes -= pages.shift()!.bytes;
      budget.used += bytes - before;
      if (budget.used > LIMITS.windowBytesPerProcess) clear();
    },
    /** The next entries after `cursor`, about 64 KiB of them; null when they are no longer (or not yet) here. */
    after(cursor: number): readonly Entry<E>[] | null {
      const oldest = pages[0]?.entries[0];
      if (oldest === undefined || cursor + 1 < oldest.seq) return null;
      const page = pages.find(({ entries }) => entries.at(-1)!.seq > cursor);
      if (page === undefined) return null;
      const at = page.entries.findIndex((entry) => entry.seq > cursor);
      return at === 0 && isFull(page) ? page.entries : page.entries.slice(at);
    },
  };
}
