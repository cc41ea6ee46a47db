import type { Claim } from "../claim/claim.js";
import type { Heartbeat } from "../claim/heartbeat.js";
import { StoreError, storageError } from "../errors.js";
import type { OpenFiles } from "../file/open-files.js";
import type { SegmentFile } from "../file/segment/segment-file.js";
import type { SegmentLog } from "../file/segment/segment-log.js";
import type { DiskSync } from "../file/sync.js";
import { LIMITS } from "../limits.js";
import type { Tick } from "../live/tick.js";
import type { Durability, Entry, EventBody, LogWriter } from "../types.js";
import { encodeBatch, encodeLines } from "./encode.js";
import type { AppendedEntry } from "./entry.js";
import { createWaiters, type Waiters } from "./waiters.js";

export interface LogWriterDeps<E extends EventBody> {
  readonly id: string;
  readonly claim: Claim;
  readonly heartbeat: Heartbeat;
  readonly segments: SegmentLog;
  readonly durability: Durability;
  readonly stamp: () => string;
  readonly tick: Tick;
  readonly openFiles: OpenFiles;
  readonly disk: DiskSync;
  /** Paths beside the segments that the next sync has to cover: a new session's summary and directories. */
  readonly unsynced: string[];
  readonly directory: string;
  /** Hands written entries to the readers. */
  readonly publish: (batch: readonly Entry<E>[]) => void;
  readonly onClose: () => void;
}

/** A writer that the store can also end without writing: when the session is deleted under it. */
export interface FileLogWriter<E extends EventBody> extends LogWriter<E> {
  abandon(): void;
  readonly claim: Claim;
  readonly writtenSeq: number;
}

const DONE = Promise.resolve();

/**
 * The write path. Entries queue up during a tick, go out in one write at its end, and only then to the readers: what anybody
 * saw survives the process. Only the sync to disk is asynchronous.
 */
export function createLogWriter<E extends EventBody>(deps: LogWriterDeps<E>): FileLogWriter<E> {
  const { id, claim, heartbeat, segments, durability, stamp, tick, openFiles, disk, publish } = deps;
  let lastSeq = segments.writtenSeq;
  let queue: AppendedEntry<E>[] = [];
  /** Characters in the queue, about. */
  let queued = 0;
  let undelivered: Entry<E>[] = [];
  let syncing: Promise<void> | null = null;
  let state: "open" | "fenced" | "closing" | "closed" = "open";
  /** The last write's error. `told` once a caller got it; from then on appends try again. */
  let failure: { readonly error: StoreError; told: boolean } | null = null;
  const writtenWaiters = createWaiters();
  const durableWaiters = createWaiters();

  const closedError = (): StoreError => new StoreError("closed", `session ${id} is closed`);
  const fencedError = (): StoreError => new StoreError("fenced", `session ${id} was taken over by another writer`);
  const guard = (): void => {
    if (state === "closed" || state === "closing") throw closedError();
    if (state === "fenced") throw fencedError();
  };

  const fail = (error: StoreError): void => {
    if (error.code === "fenced") state = "fenced";
    // Nobody has seen the numbers that were not written, so they are given out again.
    lastSeq = segments.writtenSeq;
    const heard = writtenWaiters.failAbove(lastSeq, error);
    const heardToo = durableWaiters.failAbove(lastSeq, error);
    failure = { error, told: heard || heardToo };
  };

  let lapses = heartbeat.lapses();
  const assertHeld = (): void => {
    const now = heartbeat.lapses();
    if (now === lapses) return;
    if (!claim.isHeld()) throw fencedError();
    lapses = now;
  };

  const flush = (): void => {
    if (queue.length === 0) return;
    const batch = queue;
    queue = [];
    queued = 0;
    let written = 0;
    let error: StoreError | null = null;
    try {
      assertHeld();
      written = segments.write(batch, encodeLines(batch));
      if (written < batch.length)
        error = new StoreError("storage_full", `session ${id}: short write, the disk is full`);
    } catch (cause) {
      error = storageError(cause, `session ${id} cannot be written`);
    }
    if (written > 0) {
      const done = written === batch.length ? batch : batch.slice(0, written);
      undelivered = undelivered.length === 0 ? done : undelivered.concat(done);
      writtenWaiters.reached(segments.writtenSeq);
      failure = null;
    }
    if (error !== null) fail(error);
  };

  const deliver = (): void => {
    if (undelivered.length === 0 || state === "closed") return;
    let batch = undelivered;
    undelivered = [];
    if (durability === "event") {
      undelivered = batch.filter((entry) => entry.seq > segments.durableSeq);
      batch = batch.filter((entry) => entry.seq <= segments.durableSeq);
    }
    if (batch.length > 0) publish(batch);
  };

  const runSync = async (): Promise<void> => {
    durableWaiters.seal();
    const point = segments.syncPoint();
    const paths = deps.unsynced.splice(0);
    if (point.hasNewFile && !paths.includes(deps.directory)) paths.push(deps.directory);
    // At once: calls that wait for the disk together are done together.
    const results = await Promise.allSettled([...point.files.map(syncFile), ...paths.map((path) => disk.path(path))]);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) {
      deps.unsynced.push(...paths);
      throw failed.reason;
    }
    segments.synced(point);
  };

  const syncFile = (file: SegmentFile): Promise<void> => {
    let pinned = false;
    const acquire = (): number => {
      const fd = file.fd();
      openFiles.pin(file.key);
      pinned = true;
      return fd;
    };
    return disk.data(acquire).finally(() => pinned && openFiles.unpin(file.key));
  };

  const startSync = (): void => {
    if (syncing !== null || state === "closed") return;
    syncing = runSync()
      .then(
        () => durableWaiters.reached(segments.durableSeq),
        (cause: unknown) => {
          segments.distrust();
          durableWaiters.failAbove(segments.durableSeq, storageError(cause, `session ${id} cannot be synced`));
        },
      )
      .then(() => {
        syncing = null;
        deliver();
        if (durableWaiters.anyUpTo(segments.writtenSeq)) startSync();
      });
  };

  const endOfTick = (): void => {
    flush();
    deliver();
    if (durableWaiters.anyUpTo(segments.writtenSeq) || (durability === "event" && undelivered.length > 0)) startSync();
  };

  const enqueue = (batch: readonly AppendedEntry<E>[]): void => {
    for (const entry of batch) {
      queue.push(entry);
      queued += entry.tail.length;
    }
    lastSeq += batch.length;
    if (queued >= LIMITS.writeBytes || failure !== null) {
      flush();
      // A loop turn may bring megabytes; readers need not wait for all of it. Not at once: the caller is in the middle of an append.
      if (undelivered.length > 0) queueMicrotask(endOfTick);
    }
    tick.schedule(endOfTick);
  };

  const abandon = (): void => {
    if (state === "closed") return;
    state = "closed";
    writtenWaiters.failAbove(-1, closedError());
    durableWaiters.failAbove(-1, closedError());
    segments.close();
    deps.onClose();
  };

  /** Resolves once everything written is as durable as the level asks for before it may be shown. */
  const drain = async (): Promise<void> => {
    endOfTick();
    while (syncing !== null) await syncing;
  };

  /** Throws the error of a write that failed since, unless its caller knows of it and asks for what was written before. */
  const reportFailure = (seq: number): void => {
    if (failure === null || queue.length > 0 || (failure.told && seq <= segments.writtenSeq)) return;
    failure.told = true;
    throw failure.error;
  };

  /** Not an async function: every append of a stream may come by here. */
  const waitFor = (seq: number, done: number, waiters: Waiters): Promise<void> => {
    try {
      reportFailure(seq);
      if (seq <= done) return DONE;
      guard();
    } catch (error) {
      return Promise.reject(error);
    }
    tick.schedule(endOfTick);
    return waiters.wait(seq, seq > lastSeq);
  };

  const written = (seq = lastSeq): Promise<void> => waitFor(seq, segments.writtenSeq, writtenWaiters);

  return {
    id,
    claim,
    get lastSeq() {
      return lastSeq;
    },
    get writtenSeq() {
      return segments.writtenSeq;
    },
    append(events) {
      guard();
      if (failure !== null && !failure.told) {
        failure.told = true;
        throw failure.error;
      }
      const batch = encodeBatch(events, lastSeq, stamp);
      enqueue(batch);
      const failed = failure as { error: StoreError; told: boolean } | null;
      if (failed !== null) {
        failed.told = true;
        throw failed.error;
      }
      return batch;
    },
    written,
    durable(seq = lastSeq) {
      if (durability === "none") return written(seq);
      return waitFor(seq, segments.durableSeq, durableWaiters);
    },
    async close() {
      if (state === "closed" || state === "closing") return;
      state = state === "fenced" ? "fenced" : "closing";
      await drain();
      const unheard = failure as { error: StoreError; told: boolean } | null;
      abandon();
      claim.release();
      if (unheard !== null && !unheard.told) throw unheard.error;
    },
    abandon,
  };
}
