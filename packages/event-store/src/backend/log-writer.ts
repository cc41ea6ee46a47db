import { isStoreError, StoreError, storageError } from "../errors.js";
import { LIMITS } from "../limits.js";
import type { Durability, Entry, EventBody, LogWriter } from "../types.js";
import type { Held } from "./backend.js";
import { type AppendedEntry, createStamp, encodeBatch } from "./line.js";
import { createWaiters, type Waiters } from "./waiters.js";
import { createWriteQueue } from "./write-queue.js";

/** A writer that the store can also end without writing: when the session is deleted under it. */
export interface HeldWriter<E extends EventBody> extends LogWriter<E> {
  writtenSeq(): number;
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

interface LogWriterDeps<E extends EventBody> {
  readonly id: string;
  readonly held: Held;
  readonly durability: Durability;
  readonly clock: () => number;
  readonly atEndOfTick: ReturnType<typeof createTick>;
  /** Hands written entries to the readers. */
  readonly publish: (batch: readonly Entry<E>[]) => void;
  readonly onClose: () => void;
}

/**
 * The write path. Entries queue up during a tick, go out in one write at its end, and only then reach the readers: whatever a reader
 * saw survives the process. While a write or a sync is under way, entries gather for the next one.
 */
export function createLogWriter<E extends EventBody>(deps: LogWriterDeps<E>): HeldWriter<E> {
  const { id, held, atEndOfTick } = deps;
  // Without `sync`, every write is durable already: there is nothing more to wait for.
  const durability = held.sync === undefined ? "none" : deps.durability;
  const stamp = createStamp(deps.clock, held.lastTs);
  let state: "open" | "fenced" | "closing" | "closed" = "open";
  const undelivered = createUndelivered(deps.publish);
  const failure = createFailure();
  const writes = createWriteQueue<E>({
    id,
    held,
    onWritten(done) {
      undelivered.add(done);
      failure.clear();
    },
    onFailed: (error) => fail(error),
    onIdle: () => endOfTick(),
  });
  const syncs = createSyncs({
    id,
    held,
    onEnd(isSynced) {
      deliver();
      // Sync the records that were written meanwhile. After a failed sync, only if a caller waits for one.
      if (isSynced ? isSyncDue() : syncs.waiters.anyUpTo(writes.writtenSeq())) startSync();
    },
  });

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
    const isKnown = state === "fenced" && failure.isReported();
    if (error.code === "fenced" && state === "open") state = "fenced";
    writes.takeBack();
    const writeHeard = writes.waiters.failAbove(writes.lastSeq(), error);
    const syncHeard = syncs.waiters.failAbove(writes.lastSeq(), error);
    failure.meet(error, isKnown || writeHeard || syncHeard);
  };
  const onLost = (): void => {
    if (state !== "open") return;
    state = "fenced";
    const text = `session ${id} was lost while this was written: look at the session before you ask again`;
    fail(writes.isInDoubt() ? new StoreError("outcome_unknown", text) : fencedError());
  };
  held.lost.addEventListener("abort", onLost, { once: true });

  const deliver = (): void => {
    if (state === "closed") return;
    undelivered.handOver(durability === "event" ? syncs.durableSeq() : writes.writtenSeq());
  };
  const isSyncDue = (): boolean =>
    syncs.waiters.anyUpTo(writes.writtenSeq()) || (durability === "event" && undelivered.size() > 0);
  const startSync = (): void => {
    if (state !== "closed") syncs.start();
  };
  const endOfTick = (): void => {
    writes.flush();
    deliver();
    if (isSyncDue()) startSync();
  };

  const enqueue = (batch: readonly AppendedEntry<E>[]): void => {
    writes.add(batch);
    if (writes.isLarge() || failure.isThere()) {
      writes.flush();
      // One loop turn may append megabytes; readers need not wait for all of them. A microtask, because the caller is still inside `append`.
      if (undelivered.size() > 0) queueMicrotask(endOfTick);
    }
    atEndOfTick(endOfTick);
  };

  const abandon = (): void => {
    if (state === "closed") return;
    state = "closed";
    held.lost.removeEventListener("abort", onLost);
    for (const { waiters } of [writes, syncs]) waiters.failAbove(-1, closedError());
  };

  /** Resolves once every write has ended, and every sync that the durability level needs before readers may see the records. */
  const drain = async (): Promise<void> => {
    endOfTick();
    for (let work = writes.underWay() ?? syncs.underWay(); work !== null; work = writes.underWay() ?? syncs.underWay())
      await work;
  };

  /** Not an async function, which would cost more: every append of a stream may call it. */
  const waitFor = (seq: number, done: number, waiters: Waiters): Promise<void> => {
    try {
      // A caller that has received the failure may still wait for records written before it.
      if (!writes.isTrying()) failure.report(seq > writes.writtenSeq());
      if (seq <= done) return DONE;
      guard();
    } catch (error) {
      return Promise.reject(error);
    }
    atEndOfTick(endOfTick);
    return waiters.wait(seq, seq > writes.lastSeq());
  };
  const durable = (seq = writes.lastSeq()): Promise<void> =>
    durability === "none" ? written(seq) : waitFor(seq, syncs.durableSeq(), syncs.waiters);
  const written = (seq = writes.lastSeq()): Promise<void> => waitFor(seq, writes.writtenSeq(), writes.waiters);

  return {
    id,
    lost: held.lost,
    origin: held.origin,
    get lastSeq() {
      return writes.lastSeq();
    },
    writtenSeq: writes.writtenSeq,
    requireHeld() {
      held.isHeld?.();
      guard();
    },
    append(events) {
      guard();
      failure.report();
      const batch = encodeBatch(events, writes.lastSeq(), stamp);
      enqueue(batch);
      if (!writes.isTrying()) failure.report();
      return batch;
    },
    written,
    durable,
    // What is written waits at durability `event` for the disk, and elsewhere until the end of the tick at most.
    room: () =>
      durability === "event" ? backlog(writes.size() + undelivered.size(), durable) : backlog(writes.size(), written),
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
      failure.report();
    },
    abandon,
  };
}

// --- internal ---

const DONE = Promise.resolve();

const backlog = (size: number, end: () => Promise<void>) => (size <= LIMITS.backlogBytes ? null : end());

/** The last write's error. Once a caller has received it, append tries again. */
function createFailure() {
  let error: StoreError | null = null;
  let isReported = false;
  return {
    isThere: () => error !== null,
    isReported: () => error !== null && isReported,
    meet(met: StoreError, isHeard: boolean): void {
      error = met;
      isReported = isHeard;
    },
    /** A write has succeeded since. */
    clear(): void {
      error = null;
    },
    /** Throws the failure if no caller has received it yet, or with `any` in every case. */
    report(any = false): void {
      if (error === null || (isReported && !any)) return;
      isReported = true;
      throw error;
    },
  };
}

/** Written entries that readers do not have yet. */
function createUndelivered<E extends EventBody>(publish: LogWriterDeps<E>["publish"]) {
  let waiting: readonly AppendedEntry<E>[] = [];
  let size = 0;
  const sizeOf = (entries: typeof waiting) => entries.reduce((sum, { tail }) => sum + tail.length, 0);
  return {
    size: () => size,
    add(done: readonly AppendedEntry<E>[]): void {
      size += sizeOf(done);
      waiting = waiting.length === 0 ? done : [...waiting, ...done];
    },
    /** Hands those up to this number to the readers. */
    handOver(upTo: number): void {
      const at = waiting.findLastIndex(({ seq }) => seq <= upTo) + 1;
      if (at === 0) return;
      const due = at === waiting.length ? waiting : waiting.slice(0, at);
      waiting = at === waiting.length ? [] : waiting.slice(at);
      size = sizeOf(waiting);
      publish(due);
    },
  };
}

/** Brings written records to the disk, one sync at a time. */
function createSyncs({ id, held, onEnd }: { id: string; held: Held; onEnd: (isSynced: boolean) => void }) {
  let { durableSeq } = held;
  let underWay: Promise<void> | null = null;
  const waiters = createWaiters();
  return {
    waiters,
    durableSeq: () => durableSeq,
    underWay: () => underWay,
    start(): void {
      if (underWay !== null || held.sync === undefined) return;
      waiters.seal();
      underWay = held
        .sync()
        .then(
          (seq) => {
            durableSeq = seq;
            waiters.reached(seq);
            return true;
          },
          (cause: unknown) => {
            waiters.failAbove(durableSeq, storageError(cause, `session ${id} cannot be synced`));
            return false;
          },
        )
        .then((isSynced) => {
          underWay = null;
          onEnd(isSynced);
        });
    },
  };
}
