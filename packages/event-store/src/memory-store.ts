import { randomUUID } from "node:crypto";
import type { Backend, Held } from "./backend/backend.js";
import { createStore } from "./backend/create-store.js";
import { lineTs } from "./backend/line.js";
import { pageOf, type RowSource } from "./backend/list.js";
import { batches } from "./backend/replay.js";
import { StoreError } from "./errors.js";
import { LIMITS } from "./limits.js";
import type { Entry, EventBody, EventStore, LogEntry } from "./types.js";

export interface MemoryStoreOptions {
  /** @defaultValue Date.now */
  readonly clock?: () => number;
  /** How many bytes of lines a session keeps before it forgets the oldest. @defaultValue 16 MiB */
  readonly maxSessionBytes?: number;
}

interface MemoryLog<E extends EventBody, S> {
  readonly origin: string;
  /** The retained entries; the first has number `dropped + 1`. */
  entries: Entry<E>[];
  dropped: number;
  bytes: number;
  summary: S;
  touched: number;
  isHeld: boolean;
}

/**
 * A store in memory that writes no files. A session beyond its bound forgets its oldest records, which are then `lost` as `truncated`.
 *
 * @example
 * const sessions = createSessions({ ...deps, store: createMemoryStore() });
 */
export function createMemoryStore<E extends EventBody, S extends object>(
  options: MemoryStoreOptions = {},
): EventStore<E, S> {
  const { clock = Date.now, maxSessionBytes = LIMITS.memorySessionBytes } = options;
  const logs = new Map<string, MemoryLog<E, S>>();

  const find = (id: string): MemoryLog<E, S> => {
    const log = logs.get(id);
    if (log === undefined) throw new StoreError("not_found", `no session ${id}`);
    return log;
  };

  const make = (id: string, summary: S, entries: Entry<E>[] = [], dropped = 0): Held => {
    if (logs.has(id)) throw new StoreError("exists", `session ${id} exists`);
    const log = newLog(summary, clock(), entries, dropped);
    logs.set(id, log);
    return hold(log);
  };

  const hold = (log: MemoryLog<E, S>): Held => {
    log.isHeld = true;
    return {
      origin: () => log.origin,
      lastSeq: lastSeq(log),
      durableSeq: lastSeq(log),
      lastTs: lineTs(log.entries.at(-1)?.line ?? ""),
      lost: new AbortController().signal,
      write(batch) {
        log.touched = clock();
        for (const entry of batch as readonly Entry<E>[]) {
          log.entries.push(entry);
          log.bytes += entry.line.length;
        }
        forgetOldest(log, maxSessionBytes);
        return batch.length;
      },
      async release() {
        log.isHeld = false;
      },
    };
  };

  const backend: Backend<E, S> = {
    create: async (id, summary) => make(id, summary),
    async claim(id) {
      const log = find(id);
      if (log.isHeld) throw new StoreError("claimed", `session ${id} is open already`);
      return hold(log);
    },
    async copy(from, to, { upTo, summary, added }) {
      const { entries, dropped } = find(from);
      const kept = entries.filter((entry) => entry.seq <= upTo);
      const forgotten = Math.min(dropped, upTo);
      kept.push(...added(forgotten + kept.length, lineTs(kept.at(-1)?.line ?? "")));
      return make(to, summary, kept, forgotten);
    },
    async importLog(id, { summary, batches: given, onReplace }) {
      const before = logs.get(id);
      if (before !== undefined && onReplace === null) throw new StoreError("exists", `session ${id} exists`);
      if (before?.isHeld) throw new StoreError("claimed", `session ${id} is open`);
      const log = newLog<E, S>(summary, clock());
      const { write } = hold(log);
      for await (const batch of given) await write(batch);
      log.isHeld = false;
      onReplace?.();
      logs.set(id, log);
    },
    has: async (id) => logs.has(id),
    head: async (id) => lastSeq(find(id)),
    async read(id, { from, to, isOver }, take) {
      for (const batch of batches(entriesIn(find(id), from, to))) {
        if (isOver?.()) return;
        await take(batch);
      }
    },
    watch(id, watcher) {
      watcher.advance(lastSeq(find(id)));
      // Only this process writes, and its readers get every record from the writer.
      return () => {};
    },
    readSummary: async (id) => structuredClone(logs.get(id)?.summary ?? null),
    async writeSummary(id, summary) {
      const log = find(id);
      log.summary = structuredClone(summary);
      log.touched = clock();
    },
    async list(listOptions) {
      const source: RowSource<S> = {
        touched: (id) => logs.get(id)?.touched ?? null,
        row(id) {
          const log = logs.get(id);
          return log === undefined ? null : { id, summary: structuredClone(log.summary), touched: log.touched };
        },
      };
      return pageOf(logs.keys(), source, listOptions);
    },
    async remove(id) {
      logs.delete(id);
    },
    async close() {},
  };
  return createStore(backend, { clock });
}

// --- internal ---

function newLog<E extends EventBody, S>(summary: S, touched: number, entries: Entry<E>[] = [], dropped = 0) {
  const bytes = entries.reduce((sum, entry) => sum + entry.line.length, 0);
  const log: MemoryLog<E, S> = {
    ...{ origin: randomUUID(), summary: structuredClone(summary), touched, isHeld: false },
    ...{ entries, dropped, bytes },
  };
  return log;
}

function lastSeq({ dropped, entries }: Pick<MemoryLog<EventBody, unknown>, "dropped" | "entries">): number {
  return dropped + entries.length;
}

/** The entries of a range, with a `Lost` for the records that the session no longer keeps. */
function entriesIn<E extends EventBody>(log: MemoryLog<E, unknown>, from: number, to: number): LogEntry<E>[] {
  const { entries, dropped } = log;
  const kept: LogEntry<E>[] = entries.slice(Math.max(0, from - dropped), Math.max(0, to - dropped));
  const last = Math.min(dropped, to);
  return from < last ? [{ type: "lost", seq: from + 1, last, reason: "truncated" }, ...kept] : kept;
}

function forgetOldest(log: MemoryLog<EventBody, unknown>, maxBytes: number): void {
  let count = 0;
  // The newest entry stays, whatever its size. Forgetting a quarter at a time saves moving the array at each append.
  const floor = log.bytes > maxBytes ? maxBytes * 0.75 : maxBytes;
  while (log.bytes > floor && count < log.entries.length - 1) log.bytes -= log.entries[count++]!.line.length;
  if (count === 0) return;
  log.entries = log.entries.slice(count);
  log.dropped += count;
}
