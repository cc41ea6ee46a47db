import { describe, expect, it } from "vitest";
import { createMemoryStore, type Damage } from "../src/index.js";

interface Note {
  type: string;
  text?: string;
}

const ID = "otter-20260425T120300-aaaa1111";

describe("the memory store", () => {
  it("forgets the oldest entries at its bound, says so, and keeps numbers and counts", async () => {
    const store = createMemoryStore<Note, object>({ maxSessionBytes: 4096 });
    const writer = await store.create(ID, {});
    for (let i = 0; i < 100; i++) writer.append([{ type: "note", text: "x".repeat(100) }]);
    const damage: Damage[] = [];
    const seqs: number[] = [];
    for await (const entry of store.read(ID, { onDamage: (one) => damage.push(one) })) seqs.push(entry.seq);
    expect(damage).toHaveLength(1);
    expect(damage[0]).toMatchObject({ reason: "truncated", seq: seqs[0]! - 1 });
    expect(seqs.at(-1)).toBe(100);
    expect(seqs).toEqual(seqs.map((_, i) => seqs[0]! + i));
    expect(await store.counts(ID, 100)).toEqual({ note: 100 });
    expect(await store.lastSeq(ID)).toBe(100);
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
