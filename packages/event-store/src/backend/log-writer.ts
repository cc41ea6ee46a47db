import { isStoreError, StoreError, storageError } from "../errors.js";
import { LIMITS } from "../limits.js";
import type { Durability, Entry, EventBody, LogWriter } from "../types.js";
import type { Held } from "./backend.js";
import { type AppendedEntry, createStamp, encodeBatch } from "./line.js";
import { createWaiters, type Waiters } from "./waiters.js";

/** A writer that the store can also end without writing: when the session is deleted under it. */
export interface HeldWriter<E extends EventBody> extends LogWriter<E> {
  readonly writtenSeq: number;
  /** Ends the writer without a last write and without releasing the hold. */
  abandon(): void;
}

/**
 * Returns a function that runs each job it is given once at the end of the current turn of the event loop, in the order they were first
 * given. One `setImmediate` serves every session that wrote in this turn.
 */
export function createTick(): (job: () => void) => void {
  let jobs = new Set<() => void>();
  const run = (): void => {
    const due = jobs;
    jobs = new Set();
    for (const job of due) job();
  };
  return (job) => {
    if (jobs.size === 0) setImmediate(run);
    jobs.add(job);
  };
}

const DONE = Promise.resolve();

/**
 * The write path. Entries queue up during a tick, go out in one write at its end, and only then reach the readers: whatever a reader
 * saw survives the process. While a write or a sync is under way, entries gather for the next one.
 */
export function createLogWriter<E extends EventBody>(deps: {
  readonly id: string;
  readonly held: Held;
  readonly durability: Durability;
  readonly clock: () => number;
  readonly atEndOfTick: ReturnType<typeof createTick>;
  /** Hands written entries to the readers. */
  readonly publish: (batch: readonly Entry<E>[]) => void;
  readonly onClose: () => void;
}): HeldWriter<E> {
  const { id, held, atEndOfTick, publish } = deps;
  // Without `sync`, every write is durable already: there is nothing more to wait for.
  const durability = held.sync === undefined ? "none" : deps.durability;
  const stamp = createStamp(deps.clock, held.lastTs);
  let { lastSeq, durableSeq } = held;
  let writtenSeq = lastSeq;
  let queue: AppendedEntry<E>[] = [];
  /** About how many characters are queued. */
  let queued = 0;
  let undelivered: Entry<E>[] = [];
  let writing: Promise<void> | null = null;
  /** An asynchronous write is under way, and its result is not known yet. */
  let isInDoubt = false;
  let syncing: Promise<void> | null = null;
  let state: "open" | "fenced" | "closing" | "closed" = "open";
  /** The last write's error. Once a caller has received it (`reported`), append tries again. */
  let failure: { readonly error: StoreError; reported: boolean } | null = null;
  const writtenWaiters = createWaiters();
  const durableWaiters = createWaiters();

  const closedError = (): StoreError => new StoreError("closed", `session ${id} is closed`);
  const fencedError = (): StoreError =>
    isStoreError(held.lost.reason)
      ? held.lost.reason
      : new StoreError("fenced", `session ${id} was taken over by another writer`);
  const guard = (): void => {
    if (state === "closed" || state === "closing") throw closedError();
    if (state === "fenced") throw fencedError();
  };

  const fail = (error: StoreError): void => {
    // A write that was under way when the claim was lost fails a second time; its callers have had the error already.
    const isKnown = state === "fenced" && failure !== null && failure.reported;
    if (error.code === "fenced" && state === "open") state = "fenced";
    // No reader has seen the numbers that were not written, so they are given out again.
    queue = [];
    queued = 0;
    lastSeq = writtenSeq;
    const writeHeard = writtenWaiters.failAbove(lastSeq, error);
    const syncHeard = durableWaiters.failAbove(lastSeq, error);
    failure = { error, reported: isKnown || writeHeard || syncHeard };
  };

  const finishWrite = (batch: readonly Entry<E>[], count: number, cause?: unknown): void => {
    isInDoubt = false;
    if (count > 0) {
      const done = count === batch.length ? batch : batch.slice(0, count);
      writtenSeq = done[count - 1]!.seq;
      undelivered = undelivered.length === 0 ? (done as Entry<E>[]) : undelivered.concat(done);
      writtenWaiters.reached(writtenSeq);
      failure = null;
    }
    if (count === batch.length) return;
    const full = new StoreError("storage_full", `session ${id}: short write, the disk is full`);
    fail(cause === undefined ? full : storageError(cause, `session ${id} cannot be written`));
  };

  const flush = (): void => {
    if (queue.length === 0 || writing !== null) return;
    const batch = queue;
    queue = [];
    queued = 0;
    let count: number | Promise<number>;
    try {
      count = held.write(batch);
    } catch (cause) {
      finishWrite(batch, 0, cause);
      return;
    }
    if (typeof count === "number") {
      finishWrite(batch, count);
      return;
    }
    isInDoubt = true;
    writing = count
      .then(
        (written) => finishWrite(batch, written),
        (cause: unknown) => finishWrite(batch, 0, cause),
      )
      .then(() => {
        writing = null;
        endOfTick();
      });
  };

  const deliver = (): void => {
    if (undelivered.length === 0 || state === "closed") return;
    let batch = undelivered;
    undelivered = [];
    if (durability === "event") {
      undelivered = batch.filter((entry) => entry.seq > durableSeq);
      batch = batch.filter((entry) => entry.seq <= durableSeq);
    }
    if (batch.length > 0) publish(batch);
  };

  const startSync = (): void => {
    if (syncing !== null || state === "closed" || held.sync === undefined) return;
    durableWaiters.seal();
    syncing = held
      .sync()
      .then(
        (seq) => {
          durableSeq = seq;
          durableWaiters.reached(seq);
        },
        (cause: unknown) => {
          durableWaiters.failAbove(durableSeq, storageError(cause, `session ${id} cannot be synced`));
        },
      )
      .then(() => {
        syncing = null;
        deliver();
        if (durableWaiters.anyUpTo(writtenSeq)) startSync();
      });
  };

  const endOfTick = (): void => {
    flush();
    deliver();
    if (durableWaiters.anyUpTo(writtenSeq) || (durability === "event" && undelivered.length > 0)) startSync();
  };

  const enqueue = (batch: readonly AppendedEntry<E>[]): void => {
    for (const entry of batch) {
      queue.push(entry);
      queued += entry.tail.length;
    }
    lastSeq += batch.length;
    if (queued >= LIMITS.writeBytes || failure !== null) {
      flush();
      // One loop turn may append megabytes; readers need not wait for all of them. A microtask, because the caller is still inside `append`.
      if (undelivered.length > 0) queueMicrotask(endOfTick);
    }
    atEndOfTick(endOfTick);
  };

  const onLost = (): void => {
    if (state !== "open") return;
    state = "fenced";
    const text = `session ${id} was lost while this was written: look at the session before you ask again`;
    fail(isInDoubt ? new StoreError("outcome_unknown", text) : fencedError());
  };
  held.lost.addEventListener("abort", onLost, { once: true });

  const abandon = (): void => {
    if (state === "closed") return;
    state = "closed";
    held.lost.removeEventListener("abort", onLost);
    writtenWaiters.failAbove(-1, closedError());
    durableWaiters.failAbove(-1, closedError());
  };

  /** Resolves once every write has ended, and every sync that the durability level needs before readers may see the records. */
  const drain = async (): Promise<void> => {
    endOfTick();
    for (let work = writing ?? syncing; work !== null; work = writing ?? syncing) await work;
  };

  /** True while a write is under way or queued: it may succeed where the last one failed. */
  const isTrying = (): boolean => queue.length > 0 || writing !== null;

  /** Throws a failure that no caller has received. */
  const reportFailure = (): void => {
    if (failure === null || failure.reported) return;
    failure.reported = true;
    throw failure.error;
  };

  /** Not an async function, which would cost more: every append of a stream may call it. */
  const waitFor = (seq: number, done: number, waiters: Waiters): Promise<void> => {
    try {
      // A caller that has received the failure may still wait for records written before it.
      if (failure !== null && !isTrying() && (!failure.reported || seq > writtenSeq)) {
        failure.reported = true;
        throw failure.error;
      }
      if (seq <= done) return DONE;
      guard();
    } catch (error) {
      return Promise.reject(error);
    }
    atEndOfTick(endOfTick);
    return waiters.wait(seq, seq > lastSeq);
  };

  const written = (seq = lastSeq): Promise<void> => waitFor(seq, writtenSeq, writtenWaiters);

  return {
    id,
    lost: held.lost,
    get lastSeq() {
      return lastSeq;
    },
    get writtenSeq() {
      return writtenSeq;
    },
    requireHeld() {
      held.isHeld?.();
      guard();
    },
    append(events) {
      guard();
      reportFailure();
      const batch = encodeBatch(events, lastSeq, stamp);
      enqueue(batch);
      if (!isTrying()) reportFailure();
      return batch;
    },
    written,
    durable(seq = lastSeq) {
      if (durability === "none") return written(seq);
      return waitFor(seq, durableSeq, durableWaiters);
    },
    async close() {
      if (state === "closed" || state === "closing") return;
      state = state === "fenced" ? "fenced" : "closing";
      await drain();
      abandon();
      try {
        await held.release();
      } finally {
        // Readers follow the next writer from here on, even when the release failed.
        deps.onClose();
      }
      reportFailure();
    },
    abandon,
  };
}
