import { LIMITS } from "../limits.js";
import type { EventBody, LogEntry } from "../types.js";
import { withResolvers } from "./waiters.js";

export interface ReplayRange {
  readonly from: number;
  readonly to: number;
  /** True when the reader has left: from then on the replay hands over nothing. */
  readonly isOver?: () => boolean;
}

/**
 * Hands over the entries with from < seq <= to in batches of about 64 KiB, each after the reader has taken the one before. While it
 * waits it holds no batch, so whatever a slow reader does not keep is collected while it is young.
 */
export type Replay<E extends EventBody> = (
  range: ReplayRange,
  take: (batch: readonly LogEntry<E>[]) => void | Promise<void>,
) => Promise<void>;

/** A replay's entries, one at a time. Written without an async generator, which costs several times as much per entry. */
export function readEntries<E extends EventBody>(
  open: () => Replay<E>,
  range: Omit<ReplayRange, "isOver">,
): AsyncIterable<LogEntry<E>> {
  return {
    [Symbol.asyncIterator]() {
      let source: AsyncIterator<readonly LogEntry<E>[]> | null = null;
      let batch: readonly LogEntry<E>[] = [];
      let at = 0;
      let fetching: Promise<IteratorResult<LogEntry<E>>> | null = null;
      const fetchNext = async (): Promise<IteratorResult<LogEntry<E>>> => {
        source ??= pullBatches(open(), range);
        const result = await source.next();
        if (result.done === true) return { done: true, value: undefined };
        batch = result.value;
        at = 1;
        return { done: false, value: batch[0]! };
      };
      const next = (): Promise<IteratorResult<LogEntry<E>>> => {
        // A caller that asks for the next entry before it has this one still gets them in order.
        if (fetching !== null) return fetching.then(next, next);
        if (at < batch.length) return Promise.resolve({ done: false, value: batch[at++]! });
        fetching = fetchNext().finally(() => {
          fetching = null;
        });
        return fetching;
      };
      return {
        next,
        async return() {
          await source?.return?.();
          batch = [];
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/**
 * Groups entries into batches of about 64 KiB.
 *
 * @example
 * for (const batch of batches(entries)) await deliver(batch);
 */
export function* batches<T extends LogEntry<EventBody>>(entries: Iterable<T>): Generator<readonly T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for (const entry of entries) {
    batch.push(entry);
    bytes += "line" in entry ? entry.line.length : LOST_BYTES;
    if (bytes < LIMITS.pageBytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

// --- internal ---

/** About the size of one `Lost`. */
const LOST_BYTES = 64;

async function* pullBatches<E extends EventBody>(
  replay: Replay<E>,
  range: Omit<ReplayRange, "isOver">,
): AsyncGenerator<readonly LogEntry<E>[]> {
  let isOver = false;
  let taken = withResolvers();
  let arrived = withResolvers<readonly LogEntry<E>[] | null>();
  const ended = replay({ ...range, isOver: () => isOver }, (batch) => {
    arrived.resolve(batch);
    taken = withResolvers();
    return taken.promise;
  });
  const end = (): void => arrived.resolve(null);
  ended.then(end, end);
  try {
    for (let batch = await arrived.promise; batch !== null; batch = await arrived.promise) {
      arrived = withResolvers();
      yield batch;
      taken.resolve();
    }
    await ended;
  } finally {
    isOver = true;
    taken.resolve();
    await ended.catch(() => {});
  }
}
