import { randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import type { Backend, Held } from "../backend/backend.js";
import { lineTs, ReplayedEntry } from "../backend/line.js";
import { pageOf } from "../backend/list.js";
import { batches } from "../backend/replay.js";
import { StoreError } from "../errors.js";
import type { EventBody } from "../types.js";

/** Stands in for a database: rows that several handles share, and events for their changes. */
export interface ExampleTable<S> {
  readonly rows: Map<string, ReturnType<typeof newRow<S>>>;
  readonly changes: EventEmitter;
}

/**
 * The rows that all handles of an example store share, as the nodes of a database do.
 *
 * @example
 * const table = createExampleTable<{ title: string }>();
 * const node = createStore(createExampleBackend(table));
 */
export function createExampleTable<S>(): ExampleTable<S> {
  return { rows: new Map(), changes: new EventEmitter().setMaxListeners(0) };
}

/**
 * The smallest backend, shaped like one on a database: its writes are asynchronous, and other handles are notified of them.
 *
 * @example
 * const table = createExampleTable<{ title: string }>();
 * const [one, other] = [createStore(createExampleBackend(table)), createStore(createExampleBackend(table))];
 */
export function createExampleBackend<E extends EventBody, S extends object>(table: ExampleTable<S>): Backend<E, S> {
  const { rows, changes } = table;
  const own = new WeakSet<object>();
  const find = (id: string) => {
    const row = rows.get(id);
    if (row === undefined) throw new StoreError("not_found", `no session ${id}`);
    return row;
  };
  const hold = (id: string): Held => {
    const row = find(id);
    if (row.holder !== null) throw new StoreError("claimed", `session ${id} is held`);
    const self = {};
    row.holder = self;
    own.add(self);
    return {
      origin: () => row.origin,
      lastSeq: row.lines.length,
      durableSeq: row.lines.length,
      lastTs: lineTs(row.lines.at(-1) ?? ""),
      lost: new AbortController().signal,
      async write(batch) {
        await new Promise(setImmediate);
        if (rows.get(id)?.holder !== self) throw new StoreError("fenced", `session ${id} was taken over`);
        row.lines.push(...batch.map((entry) => entry.line));
        row.touched = Date.now();
        changes.emit(id);
        return batch.length;
      },
      async release() {
        if (row.holder === self) row.holder = null;
      },
    };
  };
  const make = (id: string, summary: S, lines: string[]): Held => {
    if (rows.has(id)) throw new StoreError("exists", `session ${id} exists`);
    rows.set(id, newRow(summary, lines));
    return hold(id);
  };

  return {
    create: async (id, summary) => make(id, summary, []),
    claim: async (id) => hold(id),
    async copy(from, to, { upTo, summary, added }) {
      const lines = find(from).lines.slice(0, upTo);
      const own = added(lines.length, lineTs(lines.at(-1) ?? ""));
      return make(to, summary, [...lines, ...own.map((entry) => entry.line)]);
    },
    async importLog(id, { summary, batches: given, onReplace }) {
      const before = rows.get(id);
      if (before !== undefined && onReplace === null) throw new StoreError("exists", `session ${id} exists`);
      if (before?.holder) throw new StoreError("claimed", `session ${id} is held`);
      const lines: string[] = [];
      for await (const batch of given) lines.push(...batch.map((entry) => entry.line));
      onReplace?.();
      rows.set(id, newRow(summary, lines));
      changes.emit(id);
    },
    has: async (id) => rows.has(id),
    head: async (id) => find(id).lines.length,
    async read(id, { from, to, isOver }, take) {
      const lines = find(id).lines.slice(from, to);
      for (const batch of batches(lines.map((line, i) => new ReplayedEntry<E>(from + i + 1, line)))) {
        if (!isOver?.()) await take(batch);
      }
    },
    watch(id, watcher) {
      const look = (): void => (rows.has(id) ? watcher.advance(find(id).lines.length) : watcher.end());
      watcher.advance(find(id).lines.length);
      changes.on(id, look);
      return () => changes.off(id, look);
    },
    readSummary: async (id) => rows.get(id)?.summary ?? null,
    async writeSummary(id, summary) {
      Object.assign(find(id), { summary, touched: Date.now() });
    },
    async list(options) {
      const touched = (id: string): number | null => rows.get(id)?.touched ?? null;
      return pageOf(rows.keys(), { touched, row: (id) => (rows.has(id) ? { id, ...find(id) } : null) }, options);
    },
    async remove(id) {
      const holder = rows.get(id)?.holder ?? null;
      if (holder !== null && !own.has(holder)) throw new StoreError("claimed", `session ${id} is held`);
      rows.delete(id);
      changes.emit(id);
    },
    async close() {},
  };
}

// --- internal ---

function newRow<S>(summary: S, lines: string[]) {
  return { origin: randomUUID() as string, lines, summary, touched: Date.now(), holder: null as object | null };
}
