import { describe, expect, it } from "vitest";
import { createMemoryStore, type Lost } from "../src/index.js";
import { readLog } from "./read-log.js";

interface Note {
  type: string;
  text?: string;
}

const ID = "otter-20260425T120300-aaaa1111";

describe("the memory store", () => {
  it("forgets the oldest entries at its bound, reports them as lost, and keeps the numbers", async () => {
    const store = createMemoryStore<Note, object>({ maxSessionBytes: 4096 });
    const writer = await store.create(ID, {});
    for (let i = 0; i < 100; i++) writer.append([{ type: "note", text: "x".repeat(100) }]);
    const { records, lost } = await readLog(store, ID);
    const seqs = records.map((entry) => entry.seq);
    expect(lost).toEqual([{ type: "lost", reason: "truncated", seq: 1, last: seqs[0]! - 1 }]);
    expect(seqs.at(-1)).toBe(100);
    expect(seqs).toEqual(seqs.map((_, i) => seqs[0]! + i));
    expect(await store.lastSeq(ID)).toBe(100);
  });

  it("reports no record as lost that the reader still gets, or did not ask for", async () => {
    const store = createMemoryStore<Note, object>({ maxSessionBytes: 4096 });
    const writer = await store.create(ID, {});
    writer.append([{ type: "note" }]);
    await new Promise(setImmediate);
    // All in one tick: readers get even the records that exceed the bound.
    for (let i = 0; i < 100; i++) writer.append([{ type: "note", text: "x".repeat(100) }]);
    const told: unknown[] = [];
    store.subscribe(ID, { from: 0 }, (batch) => {
      told.push(...batch.map((entry) => ("last" in entry ? [entry.seq, entry.last] : entry.seq)));
    });
    await expect.poll(() => told.at(-1)).toBe(101);
    expect(told).toEqual(Array.from({ length: 101 }, (_, i) => i + 1));
    const inside = await readLog(store, ID, { from: 2, to: 4 });
    expect(inside.lost).toEqual([{ type: "lost", reason: "truncated", seq: 3, last: 4 }]);
  });

  it("reports records that were forgotten before a reader came to them once, and continues without a repeat", async () => {
    const store = createMemoryStore<Note, object>({ maxSessionBytes: 4096 });
    const writer = await store.create(ID, {});
    const appendMany = async (): Promise<void> => {
      for (let i = 0; i < 100; i++) writer.append([{ type: "note", text: "x".repeat(2_000) }]);
      await new Promise(setImmediate);
    };
    await appendMany();

    const seqs: number[] = [];
    const missing: Lost[] = [];
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    store.subscribe(ID, { from: 0 }, (batch) => {
      for (const entry of batch) "last" in entry ? missing.push(entry) : seqs.push(entry.seq);
      return held;
    });
    await expect.poll(() => seqs.length).toBeGreaterThan(0);
    expect(missing).toEqual([{ type: "lost", seq: 1, last: seqs[0]! - 1, reason: "truncated" }]);

    // The reader waits until the log and the window of recent lines have outgrown their bounds.
    for (let i = 0; i < 10; i++) await appendMany();
    release();
    await expect.poll(() => seqs.at(-1)).toBe(1100);
    expect(missing).toHaveLength(2);
    // Every number was either delivered or reported as missing.
    const gaps = seqs.flatMap((seq, i) => (seq === (seqs[i - 1] ?? 0) + 1 ? [] : [[(seqs[i - 1] ?? 0) + 1, seq - 1]]));
    expect(gaps).toEqual(missing.map((one) => [one.seq, one.last]));
  });

  it("keeps a single entry larger than the bound", async () => {
    const store = createMemoryStore<Note, object>({ maxSessionBytes: 10 });
    const writer = await store.create(ID, {});
    writer.append([{ type: "note", text: "x".repeat(1000) }]);
    const seqs: number[] = [];
    for await (const entry of store.read(ID)) seqs.push(entry.seq);
    expect(seqs).toEqual([1]);
  });
});
