// What a store's writer promises over a backend whose writes take time or fail, or whose claim another process takes.
import { beforeEach, expect, it } from "vitest";
import { type Backend, createStore, type Held } from "../src/backend/index.js";
import { createExampleBackend, createExampleTable } from "../src/conformance.js";
import { type EventBody, type EventStore, type LogWriter, StoreError } from "../src/index.js";
import { readLog } from "./read-log.js";

interface Note extends EventBody {
  readonly text: string;
}

const ID = "otter-20260425T120300-aaaa1111";
const note = (text: string): Note => ({ type: "note", text });
let claimLost: AbortController;
let table: ReturnType<typeof createExampleTable<object>>;
/** What the next writes do instead of writing the whole batch. */
let faults: ((batch: number) => number)[];
let store: EventStore<Note, object>;
let writer: LogWriter<Note>;

beforeEach(async () => {
  claimLost = new AbortController();
  faults = [];
  table = createExampleTable<object>();
  const backend = createExampleBackend<Note, object>(table);
  const faulty = (held: Held): Held => ({
    ...held,
    lost: claimLost.signal,
    async write(batch) {
      await new Promise(setImmediate);
      const count = faults.shift()?.(batch.length) ?? batch.length;
      return count === 0 ? 0 : held.write(batch.slice(0, count));
    },
  });
  const create: Backend<Note, object>["create"] = async (id, summary) => faulty(await backend.create(id, summary));
  store = createStore<Note, object>({ ...backend, create });
  writer = await store.create(ID, {});
});

const texts = async (): Promise<string[]> => (await readLog(store, ID)).records.map((entry) => entry.event.text);

it("a write that fails late takes back its numbers, and those given out since", async () => {
  faults.push(() => {
    throw new StoreError("io", "the connection broke");
  });
  const seen: number[] = [];
  store.subscribe(ID, { from: 0 }, (batch) => void seen.push(...batch.map((entry) => entry.seq)));
  writer.append([note("a")]);
  const first = writer.durable();
  await new Promise(setImmediate);
  expect(writer.append([note("b")])[0]!.seq).toBe(2);
  const second = writer.written();
  await expect(first).rejects.toMatchObject({ code: "io" });
  await expect(second).rejects.toMatchObject({ code: "io" });
  expect(writer.append([note("c")])[0]!.seq).toBe(1);
  await writer.durable();
  expect(await texts()).toEqual(["c"]);
  await expect.poll(() => seen).toEqual([1]);
});

it("a short write keeps the written records, and fails for the rest", async () => {
  faults.push((length) => length - 1);
  writer.append([note("a"), note("b"), note("c")]);
  await expect(writer.durable()).rejects.toMatchObject({ code: "storage_full" });
  expect(writer.lastSeq).toBe(2);
  expect(await texts()).toEqual(["a", "b"]);
});

it("records that are appended during a write go into the next one, in order", async () => {
  const batches: number[] = [];
  faults.push(...Array.from({ length: 3 }, () => (length: number) => batches.push(length) && length));
  for (const text of ["a", "b", "c", "d"]) {
    writer.append([note(text)]);
    if (text === "a") await new Promise(setImmediate);
  }
  await writer.durable();
  expect(await texts()).toEqual(["a", "b", "c", "d"]);
  expect(batches).toEqual([1, 3]);
});

it("a lost claim fails the appends that wait and every later one, and the writer's signal says so", async () => {
  writer.append([note("a")]);
  await writer.durable();
  expect(writer.lost.aborted).toBe(false);
  writer.append([note("b")]);
  const waiting = writer.durable();
  claimLost.abort();
  expect(writer.lost.aborted).toBe(true);
  await expect(waiting).rejects.toMatchObject({ code: "fenced" });
  expect(() => writer.append([note("c")])).toThrow(expect.objectContaining({ code: "fenced" }));
  expect(await texts()).toEqual(["a"]);
  await writer.close();
});

it("a write that is under way when the claim is lost fails with outcome_unknown, and only once", async () => {
  faults.push(() => {
    throw new StoreError("fenced", "another node has it");
  });
  writer.append([note("a")]);
  const waiting = writer.durable();
  await new Promise(setImmediate);
  claimLost.abort();
  await expect(waiting).rejects.toMatchObject({ code: "outcome_unknown" });
  await writer.close();
});

it("gives a reader no record twice that it saw at the process which took the session over", async () => {
  writer.append([note("1")]);
  await writer.durable();
  // Another process has written since; this one does not know yet that it lost the session.
  const heir = createStore<Note, object>(createExampleBackend(table));
  table.rows.get(ID)!.holder = null;
  const theirs = await heir.open(ID);
  theirs.append(["2", "3"].map(note));
  await theirs.durable();
  const seen: number[] = [];
  store.subscribe(ID, { from: 2 }, (batch) => void seen.push(...batch.map((entry) => entry.seq)));
  await expect.poll(() => seen).toEqual([3]);
  claimLost.abort();
  await expect(writer.close()).rejects.toMatchObject({ code: "fenced" });
  theirs.append([note("4")]);
  await theirs.durable();
  await expect.poll(() => seen).toEqual([3, 4]);
  await theirs.close();
});

it("gives a reader no record twice that it saw elsewhere before it arrived at this process", async () => {
  const table = createExampleTable<object>();
  const far = createStore(createExampleBackend<Note, object>(table));
  const backend = createExampleBackend<Note, object>(table);
  let tell = (): void => {};
  const watch: Backend<Note, object>["watch"] = (id, watcher) => {
    watcher.advance(table.rows.get(id)!.lines.length);
    tell = () => watcher.advance(table.rows.get(id)!.lines.length);
    return () => {};
  };
  const near = createStore<Note, object>({ ...backend, watch });
  const theirs = await far.create(ID, {});
  theirs.append([note("1")]);
  await theirs.durable();
  // This process has the first record, and no other yet.
  const kept: number[] = [];
  near.subscribe(ID, { from: 0 }, (batch) => void kept.push(...batch.map((entry) => entry.seq)));
  await expect.poll(() => kept).toEqual([1]);
  theirs.append(["2", "3"].map(note));
  await theirs.durable();
  const seen: number[] = [];
  near.subscribe(ID, { from: 3 }, (batch) => void seen.push(...batch.map((entry) => entry.seq)));
  await expect.poll(() => kept).toEqual([1, 2, 3]);
  theirs.append([note("4")]);
  await theirs.durable();
  tell();
  await expect.poll(() => seen).toEqual([4]);
  expect(kept).toEqual([1, 2, 3, 4]);
  await far.close();
  await near.close();
});

it("at durability event, readers get what was written while the sync before it was under way", async () => {
  const backend = createExampleBackend<Note, object>(createExampleTable<object>());
  let endSync = (): void => {};
  const create: typeof backend.create = async (id, summary) => {
    const held = await backend.create(id, summary);
    let written = 0;
    return {
      ...held,
      async write(batch) {
        written = batch.at(-1)!.seq;
        return held.write(batch);
      },
      async sync() {
        const covered = written;
        await new Promise<void>((resolve) => (endSync = resolve));
        return covered;
      },
    };
  };
  const synced = createStore<Note, object>({ ...backend, create }, { durability: "event" });
  const mine = await synced.create(ID, {});
  const seen: number[] = [];
  synced.subscribe(ID, { from: 0 }, (batch) => void seen.push(...batch.map((entry) => entry.seq)));
  mine.append([note("a")]);
  await mine.written();
  await new Promise(setImmediate);
  mine.append([note("b")]);
  await mine.written();
  expect(seen).toEqual([]);
  for (const both of [[1], [1, 2]]) {
    endSync();
    await expect.poll(() => seen).toEqual(both);
  }
});

it("a caller that waits for room hears of a failed write, whose numbers are given out again", async () => {
  faults.push(() => {
    throw new StoreError("storage_full", "no space left");
  });
  writer.append([note("x".repeat(2 * 1024 * 1024))]);
  await expect(writer.room()).rejects.toMatchObject({ code: "storage_full" });
  expect(writer.room()).toBeNull();
  expect(writer.append([note("b")])[0]!.seq).toBe(1);
});

it.each(["write that takes time", "write at once"])(
  "at durability turn, a %s makes room without a sync, and readers have what was written",
  async (how) => {
    const backend = createExampleBackend<Note, object>(createExampleTable<object>());
    const create: typeof backend.create = async (id, summary) => {
      const held = await backend.create(id, summary);
      const slow: Held["write"] = async (batch) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return held.write(batch);
      };
      const write: Held["write"] = how === "write at once" ? ({ length }) => length : slow;
      return { ...held, write, sync: () => new Promise<number>(() => {}) };
    };
    const unsynced = createStore<Note, object>({ ...backend, create }, { durability: "turn" });
    const mine = await unsynced.create(ID, {});
    const seen: number[] = [];
    unsynced.subscribe(ID, { from: 0 }, (batch) => void seen.push(...batch.map((entry) => entry.seq)));
    await new Promise(setImmediate);
    mine.append([note("x".repeat(2 * 1024 * 1024))]);
    const room = mine.room();
    expect(room === null).toBe(how === "write at once");
    await room;
    await expect.poll(() => seen).toEqual([1]);
    expect(mine.room()).toBeNull();
  },
);
