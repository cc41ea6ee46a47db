import { type Broadcast, createBroadcast, refused } from "./backend/broadcast.js";
import { createStamp, encodeBatch } from "./backend/encode.js";
import { batches } from "./backend/replay.js";
import { createWindowBudget, type WindowBudget } from "./backend/window.js";
import { StoreError } from "./errors.js";
import { LIMITS } from "./limits.js";
import { pageOf, type RowSource } from "./list.js";
import { createTick, type Tick } from "./live/tick.js";
import { assertStorableId } from "./session-id.js";
import type { Entry, EventBody, EventStore, LogEntry, LogWriter, Subscription } from "./types.js";

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
  readonly broadcast: Broadcast<E>;
  unpublished: Entry<E>[];
  summary: S;
  touched: number;
  writer: { closed: boolean } | null;
}

/**
 * The same log in memory: for tests and for sessions that must leave nothing behind. A session that outgrows its bound
 * forgets its oldest entries; a reader who comes too late for them gets them as lost, with the reason `truncated`.
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
    async create(id, summary) {
      if (closed) throw new StoreError("closed", "the store is closed");
      assertStorableId(id);
      if (logs.has(id)) throw new StoreError("exists", `session ${id} exists`);
      const log = createLog<E, S>(structuredClone(summary), now(), budget);
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
      const log = createLog<E, S>(structuredClone(summary), now(), budget, {
        entries,
        dropped: Math.min(source.dropped, upTo),
        bytes: entries.reduce((sum, entry) => sum + entry.line.length, 0),
      });
      logs.set(to, log);
      return openWriter(to, log, { now, tick, maxSessionBytes });
    },
    async has(id) {
      return logs.has(id);
    },
    async *read(id, { from = 0, to = Number.POSITIVE_INFINITY } = {}) {
      yield* entriesIn(find(id), from, to);
    },
    subscribe(id, subscribeOptions, reader): Subscription {
      try {
        return find(id).broadcast.subscribe(subscribeOptions, reader);
      } catch (error) {
        return refused(error);
      }
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

type Contents<E extends EventBody> = Pick<MemoryLog<E, unknown>, "entries" | "dropped" | "bytes">;

/** What there is of a range now: first what the session no longer keeps. */
function entriesIn<E extends EventBody>({ entries, dropped }: Contents<E>, from: number, to: number): LogEntry<E>[] {
  const kept: LogEntry<E>[] = entries.slice(Math.max(0, from - dropped), Math.max(0, to - dropped));
  const last = Math.min(dropped, to);
  return from < last ? [{ type: "lost", seq: from + 1, last, reason: "truncated" }, ...kept] : kept;
}

function createLog<E extends EventBody, S>(
  summary: S,
  touched: number,
  budget: WindowBudget,
  contents: Contents<E> = { entries: [], dropped: 0, bytes: 0 },
): MemoryLog<E, S> {
  const log: MemoryLog<E, S> = {
    ...contents,
    unpublished: [],
    summary,
    touched,
    writer: null,
    broadcast: createBroadcast<E>({
      budget,
      head: contents.dropped + contents.entries.length,
      lastSeq: () => log.dropped + log.entries.length,
      async source({ from, to, isOver }, take) {
        for (const batch of batches(entriesIn(log, from, to))) {
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
  log.writer = state;
  const last = (): number => log.dropped + log.entries.length;
  const publish = (): void => {
    const batch = log.unpublished;
    log.unpublished = [];
    if (batch.length > 0 && !state.closed) log.broadcast.publish(batch);
  };
  return {
    id,
    get lastSeq() {
      return last();
    },
    append(events) {
      if (state.closed) throw new StoreError("closed", `session ${id} is closed`);
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
  }
  if (count > 0) {
    log.entries = log.entries.slice(count);
    log.dropped += count;
  }
}
