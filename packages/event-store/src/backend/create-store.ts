import { StoreError, storageError } from "../errors.js";
import { assertStorableId } from "../session-id.js";
import type { Durability, EventBody, EventStore, LogWriter } from "../types.js";
import type { Backend, Copy, Held } from "./backend.js";
import { type Broadcast, createBroadcast, refused, type WindowBudget } from "./broadcast.js";
import { createStamp, encodeBatch } from "./line.js";
import { createLogWriter, createTick, type HeldWriter } from "./log-writer.js";
import { readEntries } from "./replay.js";

export interface StoreOptions {
  /** @defaultValue "turn" */
  readonly durability?: Durability;
  /** @defaultValue Date.now */
  readonly clock?: () => number;
}

/**
 * Makes a store of a backend.
 *
 * @example
 * const store = createStore(createMyBackend(database), { durability: "turn" });
 * const writer = await store.create("otter-20260425T120300-aaaa1111", { title: "hello" });
 */
export function createStore<E extends EventBody, S extends object>(
  backend: Backend<E, S>,
  { durability = "turn", clock = Date.now }: StoreOptions = {},
): EventStore<E, S> {
  const live = createLiveLogs<E>(backend, { durability, clock });
  const requireOpen = (): void => {
    if (live.isClosed()) throw new StoreError("closed", "the store is closed");
  };
  const usable = (id: string): void => {
    requireOpen();
    // The id of a live log was checked when the log was opened.
    if (!live.has(id)) assertStorableId(id);
  };
  /** Waits for this process's own appends, so that it reads them before the tick is over. A failed write is not in the log. */
  const written = async (id: string): Promise<void> => {
    await live
      .writer(id)
      ?.written()
      .catch(() => {});
  };
  const named = (what: string) => (error: unknown) => {
    throw storageError(error, what);
  };

  return {
    async create(id, summary) {
      usable(id);
      return live.openWriter(id, await backend.create(id, summary).catch(named(`cannot create session ${id}`)));
    },
    async open(id) {
      usable(id);
      return live.openWriter(id, await backend.claim(id).catch(named(`cannot open session ${id}`)));
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
      return live.openWriter(to, await backend.copy(from, to, copied).catch(named(`cannot copy session ${from}`)));
    },
    async importLog(id, { summary, events = [], records, replace = false, onProgress }) {
      usable(id);
      const { copiedBatches, importedBatches } = await import("./imported-batches.js");
      const onReplace = replace ? () => live.end(id) : null;
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
        return live.forReading(id).broadcast.subscribe(options, reader);
      } catch (error) {
        return refused(error);
      }
    },
    async lastSeq(id) {
      usable(id);
      await written(id);
      return live.writer(id)?.writtenSeq() ?? backend.head(id).catch(named(`cannot read session ${id}`));
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
      requireOpen();
      return backend.list(options);
    },
    async delete(id) {
      usable(id);
      const writer = live.writer(id);
      writer?.abandon();
      if (writer) live.end(id);
      // The backend refuses to delete a log that another process holds; its readers stay then.
      await backend.remove(id).catch(named(`cannot delete session ${id}`));
      live.end(id);
    },
    sweep: async ({ dryRun = false } = {}) => (await backend.sweep?.(dryRun)) ?? 0,
    async close() {
      if (live.isClosed()) return;
      const failed = await live.close();
      await backend.close();
      if (failed !== undefined) throw failed.reason;
    },
  };
}

// --- internal ---

/** A log that this process writes or follows. */
interface LiveLog<E extends EventBody> {
  readonly id: string;
  readonly broadcast: Broadcast<E>;
  /** Set while this process writes the session; otherwise another one may, and the backend is watched. */
  writer: HeldWriter<E> | null;
  unwatch: (() => void) | null;
}

type Source<E extends EventBody> = Pick<Backend<E, object>, "read" | "head" | "watch">;

/** The logs that this process writes or follows, with their readers. */
function createLiveLogs<E extends EventBody>(
  backend: Source<E>,
  { durability, clock }: { readonly durability: Durability; readonly clock: () => number },
) {
  const logs = new Map<string, LiveLog<E>>();
  const budget = { used: 0 };
  const atEndOfTick = createTick();
  let isClosed = false;

  const isLive = (log: LiveLog<E>): boolean => logs.get(log.id) === log;
  /** Ends the readers and forgets the log. */
  const end = (id: string, reason?: unknown): void => {
    const log = logs.get(id);
    logs.delete(id);
    log?.unwatch?.();
    log?.broadcast.end(reason);
  };
  const endLive = (log: LiveLog<E>, reason?: unknown): void => {
    if (isLive(log)) end(log.id, reason);
  };
  const add = (id: string): LiveLog<E> => {
    const log: LiveLog<E> = createLiveLog(id, backend, budget, () => log.writer === null && endLive(log));
    logs.set(id, log);
    return log;
  };
  /** Follows what other processes write. A log that cannot be followed is forgotten. */
  const watch = (log: LiveLog<E>): void => {
    const { id } = log;
    const { advance, publish } = log.broadcast;
    try {
      log.unwatch = backend.watch(id, { advance, publish, end: (reason) => endLive(log, reason) });
    } catch (cause) {
      const error = storageError(cause, `cannot read session ${id}`);
      end(id, error);
      throw error;
    }
  };
  const onClose = (log: LiveLog<E>): void => {
    log.writer = null;
    if (!isLive(log)) return;
    try {
      // The readers stay, and follow the next writer.
      if (!isClosed && log.broadcast.readers > 0) watch(log);
      else end(log.id);
    } catch {
      // The readers have ended with the error.
    }
  };

  return {
    has: (id: string) => logs.has(id),
    writer: (id: string) => logs.get(id)?.writer ?? null,
    isClosed: () => isClosed,
    end,
    forReading(id: string) {
      const known = logs.get(id);
      if (known !== undefined) return known;
      const log = add(id);
      watch(log);
      return log;
    },
    openWriter(id: string, held: Held): LogWriter<E> {
      const log = logs.get(id) ?? add(id);
      log.unwatch?.();
      log.unwatch = null;
      const { advance, publish } = log.broadcast;
      advance(held.lastSeq);
      const deps = { id, held, durability, clock, atEndOfTick, publish };
      log.writer = createLogWriter<E>({ ...deps, onClose: () => onClose(log) });
      return log.writer;
    },
    /** Closes every writer and ends every reader. Resolves with the first failure. */
    async close() {
      isClosed = true;
      const results = await Promise.allSettled([...logs.values()].map((log) => log.writer?.close()));
      for (const id of [...logs.keys()]) end(id);
      return results.find((result) => result.status === "rejected");
    },
  };
}

function createLiveLog<E extends EventBody>(
  id: string,
  backend: Source<E>,
  budget: WindowBudget,
  onIdle: () => unknown,
): LiveLog<E> {
  const lastSeq = (): number => log.writer?.lastSeq ?? 0;
  const log: LiveLog<E> = {
    id,
    writer: null,
    unwatch: null,
    broadcast: createBroadcast<E>({
      budget,
      source: (range, take) => backend.read(id, range, take),
      lastSeq,
      // Records of this process's own writer reach its readers through `publish`, not from here. A stored head above them was written
      // by another process: this one has lost the session and does not know it yet.
      storedHead: async () => {
        const stored = await backend.head(id);
        return stored > lastSeq() ? stored : 0;
      },
      onIdle,
    }),
  };
  return log;
}
