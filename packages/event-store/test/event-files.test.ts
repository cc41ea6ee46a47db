import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFileStore, type EventBody, type EventStore, type Lost, writeEventFiles } from "../src/index.js";
import { readLog } from "./read-log.js";

interface Note extends EventBody {
  readonly metadata?: Record<string, unknown>;
}

const ID = "otter-20260425T120300-aaaa1111";
let root: string;
let directory: string;
let store: EventStore<Note, object>;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "event-files-"));
  directory = join(root, "eventlog", ID);
  await mkdir(directory, { recursive: true });
  store = createFileStore<Note, object>({ root });
});
afterEach(async () => {
  await store.close();
  await rm(root, { recursive: true, force: true });
});

const file = (index: number, hex: string, body: unknown): Promise<void> =>
  writeFile(
    join(directory, `event-${String(index).padStart(6, "0")}-${hex}.json`),
    typeof body === "string" ? body : JSON.stringify(body, null, 2),
  );

async function readAll(
  damage: Lost[] = [],
): Promise<{ seq: number; type: string; id: string; ts: string; metadata?: object }[]> {
  const { records, lost } = await readLog(store, ID);
  damage.push(...lost);
  return records.map((entry) => entry.event);
}

describe("directories with one file per event", () => {
  it("are read when they count from 0 and carry a monotonic time stamp", async () => {
    await file(0, "0a0b0c0d", {
      idx: 0,
      event_id: "0a0b0c0d",
      type: "user_message",
      timestamp: 12.5,
      metadata: { content: "hi" },
    });
    await file(1, "11111111", {
      idx: 1,
      event_id: "11111111",
      type: "agent_result",
      timestamp: 13.5,
      metadata: { steps: 1 },
    });
    const time = new Date("2026-04-25T12:03:04.000Z");
    await utimes(join(directory, "event-000000-0a0b0c0d.json"), time, time);
    const events = await readAll();
    expect(events.map((event) => event.seq)).toEqual([1, 2]);
    expect(events[0]).toEqual({
      seq: 1,
      id: "evt-0a0b0c0d",
      type: "user_message",
      metadata: { content: "hi" },
      ts: "2026-04-25T12:03:04.000Z",
    });
  });

  it("are read when they count from 1 and carry ids and times", async () => {
    await file(1, "0a0b0c0d", { id: "evt-0a0b0c0d", type: "user_message", metadata: {}, ts: "2026-04-25T12:03:04Z" });
    const [event] = await readAll();
    expect(event).toMatchObject({ seq: 1, id: "evt-0a0b0c0d", ts: "2026-04-25T12:03:04.000Z" });
    expect(await store.lastSeq(ID)).toBe(1);
  });

  it("report gaps and unreadable files and skip them", async () => {
    await file(1, "00000001", { type: "a" });
    await file(2, "00000002", "{");
    await file(4, "00000004", { type: "d" });
    await file(5, "00000005", "[]");
    await writeFile(join(directory, "event-7-short.json"), "{}");
    const damage: Lost[] = [];
    const events = await readAll(damage);
    expect(events.map((event) => event.seq)).toEqual([1, 4]);
    expect(damage.map((one) => [one.seq, one.last])).toEqual([
      [2, 2],
      [3, 3],
      [5, 5],
    ]);
  });

  it("are ignored where a segment has the same numbers", async () => {
    await file(0, "00000000", { type: "a" });
    const writer = await store.open(ID);
    writer.append([{ type: "b" }, { type: "c" }]);
    await writer.close();
    await file(1, "00000001", { type: "x" });
    await file(5, "00000005", { type: "y" });
    const damage: Lost[] = [];
    expect((await readAll(damage)).map(({ seq, type }) => [seq, type])).toEqual([
      [1, "a"],
      [2, "b"],
      [3, "c"],
    ]);
    expect(damage).toEqual([]);
  });

  it("report a gap of any size as one lost entry, also the gap before the segments", { timeout: 5_000 }, async () => {
    await file(1, "00000001", { type: "a" });
    await file(999_999_999_999_999, "00000002", { type: "b" });
    const writer = await store.open(ID);
    expect(writer.append([{ type: "c" }])[0]!.seq).toBe(1_000_000_000_000_000);
    await writer.close();
    await rm(join(directory, "event-999999999999999-00000002.json"));
    const damage: Lost[] = [];
    expect((await readAll(damage)).map((event) => event.type)).toEqual(["a", "c"]);
    expect(damage.map((one) => [one.seq, one.last])).toEqual([[2, 999_999_999_999_999]]);
  });

  it("are continued in segments, followed, and copied with checksums of their own", async () => {
    await file(0, "00000001", { type: "a", metadata: { n: 1 } });
    await file(1, "00000002", { type: "b", metadata: { n: 2 } });
    const writer = await store.open(ID);
    const seen: number[] = [];
    store.subscribe(ID, { from: 0 }, (batch) => {
      for (const entry of batch) seen.push(entry.seq);
    });
    expect(writer.lastSeq).toBe(2);
    writer.append([{ type: "c" }]);
    await writer.close();
    expect((await readAll()).map((event) => event.type)).toEqual(["a", "b", "c"]);
    await expect.poll(() => seen).toEqual([1, 2, 3]);
    const copy = await store.copy(ID, "copy", { upTo: 3, summary: {} });
    await copy.close();
    const copied = await readLog(store, "copy");
    expect(copied.records.map((entry) => entry.event.metadata)).toEqual([{ n: 1 }, { n: 2 }, undefined]);
  });

  it("can be exported from a log and read back unchanged", async () => {
    const writer = await store.create("source", { run_id: "source" });
    writer.append([{ type: "user_message", metadata: { text: "hi" } }, { type: "agent_result" }]);
    await writer.close();
    expect(await writeEventFiles(store, "source", join(root, "eventlog", "export"))).toBe(2);
    const names = (await readdir(join(root, "eventlog", "export"))).sort();
    expect(names).toEqual([
      expect.stringMatching(/^event-000001-[0-9a-f]{8}\.json$/),
      expect.stringMatching(/^event-000002-[0-9a-f]{8}\.json$/),
      "summary.json",
    ]);
    const body = JSON.parse(await readFile(join(root, "eventlog", "export", names[0]!), "utf8")) as object;
    expect(Object.keys(body)).toEqual(["id", "type", "metadata", "ts"]);
    const lines = async (id: string): Promise<string[]> =>
      (await readLog(store, id)).records.map((entry) => JSON.stringify(entry.event));
    expect(await lines("export")).toEqual(await lines("source"));
  });
});
