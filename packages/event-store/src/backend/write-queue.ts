import { StoreError, storageError } from "../errors.js";
import { LIMITS } from "../limits.js";
import type { EventBody } from "../types.js";
import type { Held } from "./backend.js";
import type { AppendedEntry } from "./line.js";
import { createWaiters } from "./waiters.js";

interface WriteQueueDeps<E extends EventBody> {
  readonly id: string;
  readonly held: Held;
  readonly onWritten: (done: readonly AppendedEntry<E>[]) => void;
  readonly onFailed: (error: StoreError) => void;
  /** Called when an asynchronous write has ended. */
  readonly onIdle: () => void;
}

/** The entries that are numbered and not written, and the write that is under way. */
export function createWriteQueue<E extends EventBody>({ id, held, onWritten, onFailed, onIdle }: WriteQueueDeps<E>) {
  let { lastSeq } = held;
  let writtenSeq = lastSeq;
  let queue: AppendedEntry<E>[] = [];
  /** About how many characters are queued. */
  let queued = 0;
  /** About how many characters the write under way has. */
  let sent = 0;
  let underWay: Promise<void> | null = null;
  /** An asynchronous write is under way, and its result is not known yet. */
  let isInDoubt = false;
  const waiters = createWaiters();

  const finish = (batch: readonly AppendedEntry<E>[], count: number, cause?: unknown): void => {
    isInDoubt = false;
    sent = 0;
    if (count > 0) {
      const done = count === batch.length ? batch : batch.slice(0, count);
      writtenSeq = done[count - 1]!.seq;
      onWritten(done);
      waiters.reached(writtenSeq);
    }
    if (count === batch.length) return;
    const full = new StoreError("storage_full", `session ${id}: short write, the disk is full`);
    onFailed(cause === undefined ? full : storageError(cause, `session ${id} cannot be written`));
  };

  return {
    waiters,
    lastSeq: () => lastSeq,
    writtenSeq: () => writtenSeq,
    underWay: () => underWay,
    isInDoubt: () => isInDoubt,
    size: () => queued + sent,
    /** Enough is queued to be written at once. */
    isLarge: () => queued >= LIMITS.writeBytes,
    /** True while a write is under way or queued: it may succeed where the last one failed. */
    isTrying: () => queue.length > 0 || underWay !== null,
    add(batch: readonly AppendedEntry<E>[]): void {
      for (const entry of batch) {
        queue.push(entry);
        queued += entry.tail.length;
      }
      lastSeq += batch.length;
    },
    /** No reader has seen the numbers that were not written, so they are given out again. */
    takeBack(): void {
      queue = [];
      queued = 0;
      lastSeq = writtenSeq;
    },
    flush(): void {
      if (queue.length === 0 || underWay !== null) return;
      const batch = queue;
      queue = [];
      [sent, queued] = [queued, 0];
      let count: number | Promise<number>;
      try {
        count = held.write(batch);
      } catch (cause) {
        finish(batch, 0, cause);
        return;
      }
      if (typeof count === "number") {
        finish(batch, count);
        return;
      }
      isInDoubt = true;
      underWay = count
        .then(
          (written) => finish(batch, written),
          (cause: unknown) => finish(batch, 0, cause),
        )
        .then(() => {
          underWay = null;
          onIdle();
        });
    },
  };
}
