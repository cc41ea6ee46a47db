import assert from "node:assert/strict";
import type { StoreErrorCode } from "../errors.js";
import { isStoreError } from "../errors.js";
import type { Entry, EventStore, LogEntry, LogWriter, Subscription } from "../types.js";

export interface SuiteEvent {
  readonly type: string;
  readonly turn?: number | null;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface SuiteSummary {
  readonly title?: string;
  readonly cwd?: string;
  readonly turns?: number;
  readonly key?: string;
}

export type SuiteStore = EventStore<SuiteEvent, SuiteSummary>;

export interface ConformanceCase {
  readonly name: string;
  readonly run: (subject: ConformanceSubject) => Promise<void>;
}

export type Cases = Readonly<Record<string, ConformanceCase["run"]>>;

/** A fresh, empty store, and a second handle on the same data where the backend offers that. */
export interface ConformanceSubject {
  readonly store: SuiteStore;
  readonly second?: SuiteStore;
}

/** How long a delivery across handles may take before the suite calls it lost. */
const PATIENCE_MS = 5_000;

/** A session id of the canonical form, `n` seconds into a fixed minute. */
export function idAt(n: number, prefix = "suite"): string {
  return `${prefix}-20260425T1203${String(n).padStart(2, "0")}-${n.toString(16).padStart(8, "0")}`;
}

export function delta(text: string): SuiteEvent {
  return { type: "text_delta", turn: 0, metadata: { text } };
}

export async function readAll(store: SuiteStore, id: string, from = 0): Promise<Entry<SuiteEvent>[]> {
  const entries: Entry<SuiteEvent>[] = [];
  for await (const entry of store.read(id, { from })) entries.push(recordOf(entry));
  return entries;
}

/** Creates a session with `count` durable records, and returns its writer. */
export async function createWith(store: SuiteStore, id: string, count: number): Promise<LogWriter<SuiteEvent>> {
  const writer = await store.create(id, {});
  writer.append(upTo(count).map((n) => delta(String(n))));
  await writer.durable();
  return writer;
}

/** One field of each row. */
export function column<T, K extends keyof T>(rows: readonly T[], name: K): T[K][] {
  return rows.map((row) => row[name]);
}

/** The entry as a record; fails when it is a `Lost`. */
export function recordOf(entry: LogEntry<SuiteEvent>): Entry<SuiteEvent> {
  assert.ok("line" in entry, `record ${entry.seq} is lost`);
  return entry;
}

export async function refuses(code: StoreErrorCode, action: () => unknown): Promise<void> {
  try {
    await action();
  } catch (error) {
    assert.ok(isStoreError(error), `expected a StoreError, got ${String(error)}`);
    assert.equal(error.code, code);
    return;
  }
  assert.fail(`expected a StoreError with the code ${code}`);
}

/** Subscribes and collects the numbers of the entries; `until` waits for so many of them. */
export function collect(
  store: SuiteStore,
  id: string,
  from: number | "live",
): { seqs: number[]; subscription: Subscription; until(count: number): Promise<void> } {
  const seqs: number[] = [];
  let wake = (): void => {};
  const subscription = store.subscribe(id, { from }, (batch) => {
    for (const entry of batch) seqs.push(recordOf(entry).seq);
    wake();
  });
  return {
    seqs,
    subscription,
    until: (count) =>
      within(
        `${count} entries`,
        new Promise<void>((resolve) => {
          wake = () => {
            if (seqs.length >= count) resolve();
          };
          wake();
        }),
      ),
  };
}

export async function within<T>(what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come in ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export function upTo(last: number, first = 1): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}
