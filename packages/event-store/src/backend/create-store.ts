import { setImmediate as nextTurn } from "node:timers/promises";
import { StoreError, storageError } from "../errors.js";
import { LIMITS } from "../limits.js";
import { assertStorableId } from "../session-id.js";
import type { Durability, Entry, EventBody, EventStore, ImportedLog, LogEntry, LogWriter } from "../types.js";
import type { Backend, Copy, Held } from "./backend.js";
import { type Broadcast, createBroadcast, refused } from "./broadcast.js";
import { createStamp, encodeBatch, withChecksum } from "./line.js";
import { createLogWriter, createTick, type HeldWriter } from "./log-writer.js";
import { batches, readEntries } from "./replay.js";

export interface StoreOptions {
  /** @defaultValue "turn" */
  readonly durability?: Durability;
  /** @defaultValue Date.now */
  readonly clock?: () => number;
}

/** A log that this process writes or follows. */
interface LiveLog<E extends EventBody> {
  readonly broadcast: Broadcast<E>;
  /** Set while this process writes the session; otherwise another one may, and the backend is watched. */
  writer: HeldWriter<E> | null;
  unwatch: (() => void) | null;
}

/**
 * A store made of a backend.
 *
 * @example
 * const store = createStore(createTableBackend(database), { durability: "turn" });
 * const writer = await store.create("otter-20260425T120300-aaaa1111", { title: "hello" });
 */
export function createStore<E extends EventBody, S extends object>(
  backend: Backend<E, S>,
  { durability = "turn", clock = Date.now }: StoreOptions = {},
): EventStore<E, S> {
  const logs = new Map<string, LiveLog<E>>();
  const budget = { used: 0 };
  const atEndOfTick = createTick();
  let closed = false;

  const usable = (id: string): void => {
    if (closed) throw new StoreError("closed", "the store is closed");
    // The id of a live log was checked when the log was opened.
    if (!logs.has(id)) assertStorableId(id);
  };
  const named = (what: string) => (error: unknown) => {
    throw storageError(error, what);
  };

  /** Ends the readers and forgets the log. */
  const end = (id: string, reason?: unknown): void => {
    const log = logs.get(id);
    logs.delete(id);
    log?.unwatch?.();
    log?.broadcast.end(reason);
  };

  /** Waits for this process's own appends, so that it reads them before the tick is over. A failed write is not in the log. */
  const written = async (id: string): Promise<void> => {
    await logs
      .get(id)
      ?.writer?.written()
      .catch(() => {});
  };

  const add = (id: string): LiveLog<E> => {
    const log: LiveLog<E> = {
      writer: null,
      unwatch: null,
      broadcast: createBroadcast<E>({
        budget,
        source: (range, take) => backend.read(id, range, take),
        lastSeq: () => log.writer?.lastSeq ?? 0,
        // Records of this process's own writer reach its readers through `publish`, not from here. A stored head above them was written
        // by another process: this one has lost the session and does not know it yet.
        storedHead: async () => {
          const stored = await backend.head(id);
          return stored > (log.writer?.lastSeq ?? 0) ? stored : 0;
        },
        onIdle: () => {
          if (log.writer === null && logs.get(id) === log) end(id);
        },
      }),
    };
    logs.set(id, log);
    return log;
  };

  const watch = (id: string, log: LiveLog<E>): void => {
    const { advance, publish } = log.broadcast;
    log.unwatch = backend.watch(id, {
      advance,
      publish,
      end: (reason) => {
        if (logs.get(id) === log) end(id, reason);
      },
    });
  };

  const forReading = (id: string): LiveLog<E> => {
    const known = logs.get(id);
    if (known !== undefined) return known;
    const log = add(id);
    try {
      watch(id, log);
    } catch (error) {
      logs.delete(id);
      throw storageError(error, `cannot read session ${id}`);
    }
    return log;
  };

  const openWriter = (id: string, held: Held): LogWriter<E> => {
    const log = logs.get(id) ?? add(id);
    log.unwatch?.();
    log.unwatch = null;
    log.broadcast.advance(held.lastSeq);
    log.writer = createLogWriter<E>({
      id,
      held,
      durability,
      clock,
      atEndOfTick,
      publish: log.broadcast.publish,
      onClose() {
        log.writer = null;
        if (logs.get(id) !== log) return;
        if (closed || log.broadcast.readers === 0) return end(id);
        // The readers stay, and follow the next writer.
        try {
          watch(id, log);
        } catch (error) {
          end(id, storageError(error, `cannot read session ${id}`));
        }
      },
    });
    return log.writer;
  };

  return {
    async create(id, summary) {
      usable(id);
      return openWriter(id, await backend.create(id, summary).catch(named(`cannot create session ${id}`)));
    },
    async open(id) {
      usable(id);
      return openWriter(id, await backend.claim(id).catch(named(`cannot open session ${id}`)));
    },
    async copy(from, to, { upTo, summary, added = [] }) {
      usable(from);
      usable(to);
      await written(from);
      const copied: Copy<E, S> = {
        upTo,
        summary,
        added: (lastSeq, lastTs) => (added.length === 0 ? [] : encodeBatch(added, lastSeq, createStamp(clock, lastTs))),
      };
      return openWriter(to, await backend.copy(from, to, copied).catch(named(`cannot copy session ${from}`)));
    },
    async importLog(id, { summary, events = [], records, replace = false, onProgress }) {
      usable(id);
      const onReplace = replace ? () => end(id) : null;
      const log = {
        summary,
        batches: records ? copiedBatches(records) : importedBatches(events, clock, onProgress),
        onReplace,
      };
      await backend.importLog(id, log).catch(named(`cannot import session ${id}`));
    },
    async has(id) {
      assertStorableId(id);
      return backend.has(id);
    },
    read(id, { from = 0, to = Number.MAX_SAFE_INTEGER } = {}) {
      return readEntries<E>(
        () => {
          usable(id);
          return async (range, take) => {
            await written(id);
            await backend.read(id, range, take).catch(named(`cannot read session ${id}`));
          };
        },
        { from, to },
      );
    },
    subscribe(id, options, reader) {
      try {
        usable(id);
        return forReading(id).broadcast.subscribe(options, reader);
      } catch (error) {
        return refused(error);
      }
    },
    async lastSeq(id) {
      usable(id);
      await written(id);
      return logs.get(id)?.writer?.writtenSeq ?? backend.head(id).catch(named(`cannot read session ${id}`));
    },
    async readSummary(id) {
      usable(id);
      return backend.readSummary(id);
    },
    async writeSummary(id, summary, { sync = true } = {}) {
      usable(id);
      await backend.writeSummary(id, summary, sync);
    },
    async list(options = {}) {
      if (closed) throw new StoreError("closed", "the store is closed");
      return backend.list(options);
    },
    async delete(id) {
      usable(id);
      const writer = logs.get(id)?.writer;
      writer?.abandon();
      if (writer) end(id);
      // The backend refuses to delete a log that another process holds; its readers stay then.
      await backend.remove(id).catch(named(`cannot delete session ${id}`));
      end(id);
    },
    sweep: async () => (await backend.sweep?.()) ?? 0,
    async close() {
      if (closed) return;
      closed = true;
      const results = await Promise.allSettled([...logs.values()].map((log) => log.writer?.close()));
      for (const id of [...logs.keys()]) end(id);
      await backend.close();
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
}

// --- internal ---

/** Events between two reports of progress. */
const SLICE = 256;

/** Backends keep a line verbatim, so a record of another layout gets this layout's line first. */
async function* copiedBatches<E extends EventBody>(
  records: AsyncIterable<LogEntry<E>>,
): AsyncGenerator<readonly Entry<E>[]> {
  let batch: Entry<E>[] = [];
  let size = 0;
  for await (const entry of records) {
    if (!("line" in entry)) continue;
    batch.push(withChecksum(entry));
    size += entry.line.length;
    if (size < LIMITS.pageBytes) continue;
    yield batch;
    batch = [];
    size = 0;
  }
  if (batch.length > 0) yield batch;
}

async function* importedBatches<E extends EventBody>(
  events: NonNullable<ImportedLog<E, object>["events"]>,
  clock: () => number,
  onProgress?: (written: number) => void,
): AsyncGenerator<readonly Entry<E>[]> {
  let time = clock();
  const stamp = createStamp(() => time);
  function* encoded(): Generator<Entry<E>> {
    for (const [index, { event, at }] of events.entries()) {
      if (index > 0 && index % SLICE === 0) onProgress?.(index);
      time = at ?? time;
      yield* encodeBatch([event], index, stamp);
    }
  }
  for (const batch of batches(encoded())) {
    yield batch;
    // Other work gets its turn in between, however many events there are.
    await nextTurn();
  }
}
