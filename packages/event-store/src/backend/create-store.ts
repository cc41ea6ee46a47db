import { StoreError, storageError } from "../errors.js";
import { assertStorableId } from "../session-id.js";
import type { Durability, EventBody, EventStore } from "../types.js";
import type { Backend, Copy } from "./backend.js";
import { refused } from "./broadcast.js";
import { createStamp, encodeBatch } from "./line.js";
import { createLiveLogs } from "./live-logs.js";
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
