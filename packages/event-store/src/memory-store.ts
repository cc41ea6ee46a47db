import { StoreError } from "./errors.js";
import { LIMITS } from "./limits.js";
import { pageOf, type RowSource } from "./list.js";
import { type Broadcast, createBroadcast, refused } from "./live/broadcast.js";
import { createTick, type Tick } from "./live/tick.js";
import { createWindowBudget, type WindowBudget } from "./live/window.js";
import { batches } from "./record/batches.js";
import { type Counts, countType, createCounts } from "./record/counts.js";
import { encodeBatch } from "./record/encode.js";
import { createStamp } from "./record/stamp.js";
import { assertStorableId } from "./session-id.js";
import type { Damage, Entry, EventBody, EventStore, LogWriter, Subscription, TypeCounts } from "./types.js";

export interface MemoryStoreOptions {
  /** @defaultValue Date.now */
  readonly clock?: () => number;
  /** Bytes of lines a session keeps before it forgets the oldest. @defaultValue 16 MiB */
  readonly maxSessionBytes?: number;
}

interface MemoryLog<E extends EventBody, S> {
  /** The retained entries; the first has number `dropped + 1`. */
  entries: Entry<E>[];
  dropped: number;
  bytes: number;
  /** Counts of the forgotten entries. */
  readonly droppedCounts: Counts;
  readonly broadcast: Broadcast<E>;
  unpublished: Entry<E>[];
  summary: S;
  touched: number;
  fence: number;
  writer: { closed: boolean } | null;
}

/**
 * The same log in memory: for tests and for sessions that must leave nothing behind. A session that outgrows its bound
 * forgets its oldest entries; whoever comes too late for them is told so, with the reason `truncated`.
 */
export function createMemoryStore<E extends EventBody, S extends object>(
  options: MemoryStoreOptions = {},
): EventStore<E, S> {
  const { clock: now = Date.now, maxSessionBytes = LIMITS.memorySessionBytes } = options;
  const logs = new Map<string, MemoryLog<E, S>>();
  const tick = createTick();
  const budget = createWindowBudget();
  let closed = false;

  const find = (id: string): MemoryLog<E, S> => {
    if (closed) throw new StoreError("closed", "the store is closed");
    const log = logs.get(id);
    if (log === undefined) throw new StoreError("not_found", `no session ${id}`);
    return log;
  };

  return {
    capabilities: { durable: false, crossProcess: false, rollup: true },
    async create(id, summary) {
      if (closed) throw new StoreError("closed", "the store is closed");
      assertStorableId(id);
      if (logs.has(id)) throw new StoreError("exists", `session ${id} exists`);
      const log = createLog<E, S>(id, structuredClone(summary), now(), budget);
      logs.set(id, log);
      return openWriter(id, log, { now, tick, maxSessionBytes });
    },
    async open(id) {
      const log = find(id);
      if (log.writer !== null) throw new StoreError("claimed", `session ${id} is open already`);
      return openWriter(id, log, { now, tick, maxSessionBytes });
    },
    async copy(from, to, { upTo, summary }) {
      const source = find(from);
      assertStorableId(to);
      if (logs.has(to)) throw new StoreError("exists", `session ${to} exists`);
      const entries = source.entries.filter((entry) => entry.seq <= upTo);
      const log = createLog<E, S>(to, structuredClone(summary), now(), budget, {
        entries,
        dropped: Math.min(source.dropped, upTo),
        bytes: entries.reduce((sum, entry) => sum + entry.line.length, 0),
        droppedCounts: createCounts(source.droppedCounts),
      });
      logs.set(to, log);
      return openWriter(to, log, { now, tick, maxSessionBytes });
    },
    async importLog(id, { summary, events, replace = false }) {
      if (closed) throw new StoreError("closed", "the store is closed");
      assertStorableId(id);
      const before = logs.get(id);
      if (before !== undefined && !replace) throw new StoreError("exists", `session ${id} exists`);
      if (before?.writer) throw new StoreError("claimed", `session ${id} is open`);
      const log = createLog<E, S>(id, structuredClone(summary), now(), budget);
      let time = now();
      const writer = openWriter(id, log, { now: () => time, tick, maxSessionBytes });
      for (const { event, at } of events) {
        time = at ?? time;
        writer.append([event]);
      }
      await writer.close();
      logs.set(id, log);
      before?.broadcast.end();
    },
    async has(id) {
      return logs.has(id);
    },
    async *read(id, { from = 0, to = Number.POSITIVE_INFINITY, onDamage } = {}) {
      const log = find(id);
      const last = Math.min(to, log.dropped + log.entries.length);
      if (from < Math.min(to, log.dropped)) onDamage?.(forgotten(id, { from, to }, log));
      for (let seq = Math.max(from, log.dropped) + 1; seq <= last; seq++) {
        const entry = log.entries[seq - 1 - log.dropped];
        if (entry !== undefined) yield entry;
      }
    },
    subscribe(id, subscribeOptions, reader): Subscription {
      try {
        return find(id).broadcast.subscribe(subscribeOptions, reader);
      } catch (error) {
        return refused(error);
      }
    },
    async counts(id, upTo) {
      return countUpTo(find(id), upTo);
    },
    async lastSeq(id) {
      const log = find(id);
      return log.dropped + log.entries.length;
    },
    async readSummary(id) {
      const log = logs.get(id);
      return log === undefined ? null : structuredClone(log.summary);
    },
    async writeSummary(id, summary) {
      const log = find(id);
      log.summary = structuredClone(summary);
      log.touched = now();
    },
    async list(listOptions = {}) {
      const source: RowSource<S> = {
        touched: (id) => logs.get(id)?.touched ?? null,
        row(id) {
          const log = logs.get(id);
          return log === undefined ? null : { id, summary: structuredClone(log.summary), touched: log.touched };
        },
      };
      return pageOf(logs.keys(), source, listOptions);
    },
    async delete(id) {
      const log = logs.get(id);
      if (log === undefined) return;
      logs.delete(id);
      if (log.writer !== null) log.writer.closed = true;
      log.broadcast.end();
    },
    sweep: async () => 0,
    async close() {
      closed = true;
      for (const log of logs.values()) {
        if (log.writer !== null) log.writer.closed = true;
        log.broadcast.end();
      }
    },
  };
}

// --- internal ---

type Contents<E extends EventBody> = Pick<MemoryLog<E, unknown>, "entries" | "dropped" | "bytes" | "droppedCounts">;

/** The report of entries in a range that a session no longer keeps. */
function forgotten(
  id: string,
  { from, to }: { readonly from: number; readonly to: number },
  { dropped, droppedCounts }: Pick<Contents<EventBody>, "dropped" | "droppedCounts">,
): Damage {
  const types = from === 0 && dropped <= to ? createCounts(droppedCounts) : {};
  return { seq: from + 1, last: Math.min(dropped, to), where: `memory:${id}`, reason: "truncated", types };
}

function createLog<E extends EventBody, S>(
  id: string,
  summary: S,
  touched: number,
  budget: WindowBudget,
  contents: Contents<E> = { entries: [], dropped: 0, bytes: 0, droppedCounts: createCounts() },
): MemoryLog<E, S> {
  const log: MemoryLog<E, S> = {
    ...contents,
    unpublished: [],
    summary,
    touched,
    fence: 0,
    writer: null,
    broadcast: createBroadcast<E>({
      budget,
      head: contents.dropped + contents.entries.length,
      lastSeq: () => log.dropped + log.entries.length,
      async source({ from, to, onDamage, isOver }, take) {
        if (from < log.dropped) onDamage?.(forgotten(id, { from, to }, log));
        const entries = log.entries.slice(Math.max(0, from - log.dropped), Math.max(0, to - log.dropped));
        for (const batch of batches(entries)) {
          if (isOver?.()) return;
          await take(batch);
        }
      },
    }),
  };
  return log;
}

function openWriter<E extends EventBody, S>(
  id: string,
  log: MemoryLog<E, S>,
  deps: { now: () => number; tick: Tick; maxSessionBytes: number },
): LogWriter<E> {
  const state = { closed: false };
  const stamp = createStamp(deps.now, log.entries[log.entries.length - 1]?.event.ts);
  const fence = ++log.fence;
  log.writer = state;
  const last = (): number => log.dropped + log.entries.length;
  const publish = (): void => {
    const batch = log.unpublished;
    log.unpublished = [];
    if (batch.length > 0 && !state.closed) log.broadcast.publish(batch);
  };
  return {
    id,
    fence,
    get lastSeq() {
      return last();
    },
    get writtenSeq() {
      return last();
    },
    get durableSeq() {
      return last();
    },
    append(events, { expectedSeq } = {}) {
      if (state.closed) throw new StoreError("closed", `session ${id} is closed`);
      if (expectedSeq !== undefined && expectedSeq !== last()) {
        throw new StoreError("conflict", `expected ${expectedSeq} as the last number of ${id}, it is ${last()}`);
      }
      const batch = encodeBatch(events, last(), stamp);
      log.touched = deps.now();
      for (const entry of batch) {
        log.entries.push(entry);
        log.bytes += entry.line.length;
        log.unpublished.push(entry);
      }
      forgetOldest(log, deps.maxSessionBytes);
      deps.tick.schedule(publish);
      return batch;
    },
    async written() {},
    async durable() {},
    async close() {
      if (state.closed) return;
      publish();
      state.closed = true;
      log.writer = null;
    },
  };
}

function forgetOldest<E extends EventBody, S>(log: MemoryLog<E, S>, maxBytes: number): void {
  let count = 0;
  // The newest entry stays, whatever its size. A quarter at a time, so that the array is not moved for each append.
  const floor = log.bytes > maxBytes ? maxBytes * 0.75 : maxBytes;
  while (log.bytes > floor && count < log.entries.length - 1) {
    const entry = log.entries[count++]!;
    log.bytes -= entry.line.length;
    countType(log.droppedCounts, entry.type);
  }
  if (count > 0) {
    log.entries = log.entries.slice(count);
    log.dropped += count;
  }
}

function countUpTo<E extends EventBody, S>(log: MemoryLog<E, S>, upTo: number): TypeCounts {
  const counts = createCounts(log.droppedCounts);
  for (const entry of log.entries) {
    if (entry.seq > upTo) break;
    countType(counts, entry.type);
  }
  return counts;
}
