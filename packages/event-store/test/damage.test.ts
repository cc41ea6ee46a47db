import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFileStore, type EventBody, type EventStore, type Lost } from "../src/index.js";
import { readLog } from "./read-log.js";

interface Note extends EventBody {
  readonly text: string;
}

const ID = "otter-20260425T120300-aaaa1111";
const RECORDS = 9;
let root: string;
let store: EventStore<Note, object>;
let segment: string;
let sound: Buffer;
let torn: string[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "damage-"));
  torn = [];
  store = createFileStore<Note, object>({ root, onTornTail: (_id, where) => torn.push(where) });
  const writer = await store.create(ID, {});
  for (let i = 1; i <= RECORDS; i++) writer.append([{ type: "note", text: `n ${i} é "q"` }]);
  await writer.close();
  const directory = join(root, "eventlog", ID);
  segment = join(directory, (await readdir(directory)).find((name) => name.endsWith(".ndjson"))!);
  sound = await readFile(segment);
});
afterEach(async () => {
  await store.close();
  await rm(root, { recursive: true, force: true });
});

async function readBack(): Promise<{ seqs: number[]; lost: Lost[] }> {
  const { records, lost } = await readLog(store, ID);
  for (const entry of records) expect(entry.event.text).toBe(`n ${entry.seq} é "q"`);
  return { seqs: records.map((entry) => entry.seq), lost };
}

const damaged = (seq: number, last = seq): Lost => ({ type: "lost", seq, last, reason: "damaged" });
const upTo = (last: number): number[] => Array.from({ length: last }, (_, i) => i + 1);

/** Where each line break is; the first one ends the header. */
function lineBreaks(): number[] {
  return [...sound.keys()].filter((at) => sound[at] === 10);
}

describe("a damaged line break", () => {
  for (const [which, record] of [
    ["the first", 1],
    ["a middle", 5],
  ] as const) {
    it(`of ${which} record costs the two records that it joins, and no other`, async () => {
      const at = lineBreaks()[record]!;
      for (let bit = 0; bit < 8; bit++) {
        const bytes = Buffer.from(sound);
        bytes[at]! ^= 1 << bit;
        await writeFile(segment, bytes);
        const seqs = upTo(RECORDS).filter((seq) => seq !== record && seq !== record + 1);
        expect(await readBack(), `bit ${bit}`).toEqual({ seqs, lost: [damaged(record, record + 1)] });
        expect(await store.lastSeq(ID), `bit ${bit}`).toBe(RECORDS);
      }
    });
  }

  it("of the last record is a torn tail: the next writer reports it and reuses its number", async () => {
    const bytes = Buffer.from(sound);
    bytes[bytes.length - 1] = 0;
    await writeFile(segment, bytes);
    const writer = await store.open(ID);
    expect(torn).toEqual([expect.stringContaining(".ndjson@")]);
    expect(writer.append([{ type: "note", text: `n ${RECORDS} é "q"` }])[0]!.seq).toBe(RECORDS);
    await writer.close();
    expect(await readBack()).toEqual({ seqs: upTo(RECORDS), lost: [] });
  });

  it("costs no record when an editor made every line end in CR LF", async () => {
    await writeFile(segment, sound.toString().replaceAll("\n", "\r\n"));
    expect((await readBack()).seqs).toEqual(upTo(RECORDS));
  });
});

describe("a segment that was rewritten after a failed sync", () => {
  for (const random of ["00000000", "ffffffff"]) {
    it(`replaces the segments before it, also with the name ${random}`, async () => {
      const blank = '{"segment":1,"fence":1,"rewrites":1,"prev":null,"counts":{},"check":"00000000"}';
      const header = blank.replace(/0{8}/, crc32(blank).toString(16).padStart(8, "0"));
      const breaks = lineBreaks();
      const records = sound.subarray(breaks[0]! + 1, breaks[5]! + 1);
      await writeFile(
        join(segment, "..", `event-000001-${random}.ndjson`),
        Buffer.concat([Buffer.from(`${header}\n`), records]),
      );
      expect((await readBack()).seqs).toEqual(upTo(5));
      expect(await store.lastSeq(ID)).toBe(5);
    });
  }
});

describe("a damaged record", () => {
  it("is the only one reported as lost, in its place, whichever bit is damaged", async () => {
    const breaks = lineBreaks();
    for (const record of [1, 5, RECORDS]) {
      // A last line whose number is not readable is a torn tail.
      const head = record === RECORDS ? `{"seq":${RECORDS},`.length : 0;
      for (let at = breaks[record - 1]! + 1 + head; at < breaks[record]!; at++) {
        const bytes = Buffer.from(sound);
        bytes[at]! ^= 1 << (at % 8);
        await writeFile(segment, bytes);
        const seqs = upTo(RECORDS).filter((seq) => seq !== record);
        expect(await readBack(), `byte ${at}`).toEqual({ seqs, lost: [damaged(record)] });
      }
    }
  });

  it("at the end of a log keeps its number, and the next writer does not give it out again", async () => {
    await damageRecords(RECORDS - 1, RECORDS);
    expect(await store.lastSeq(ID)).toBe(RECORDS);
    const writer = await store.open(ID);
    expect(torn).toEqual([]);
    writer.append([{ type: "note", text: `n ${RECORDS + 1} é "q"` }]);
    await writer.close();
    expect(await readBack()).toEqual({
      seqs: upTo(RECORDS + 1).filter((seq) => seq !== RECORDS - 1 && seq !== RECORDS),
      lost: [damaged(RECORDS - 1, RECORDS)],
    });
  });

  it("cannot claim a number that is higher than the lines can reach", async () => {
    await writeFile(segment, Buffer.concat([sound, Buffer.from('{"seq":4000000000,"id":"evt-00000000"}\n')]));
    expect(await store.lastSeq(ID)).toBe(RECORDS);
    expect(await readBack()).toEqual({ seqs: upTo(RECORDS), lost: [] });
  });

  it("at the end of a copied log keeps its number in the copy", async () => {
    await damageRecords(RECORDS);
    const copyId = ID.replace("aaaa", "bbbb");
    const copy = await store.copy(ID, copyId, { upTo: RECORDS, summary: {} });
    expect(copy.append([{ type: "note", text: "next" }])[0]!.seq).toBe(RECORDS + 1);
    await copy.close();
    const { records, lost } = await readLog(store, copyId);
    expect(records.map((entry) => entry.seq)).toEqual([...upTo(RECORDS - 1), RECORDS + 1]);
    expect(lost).toEqual([{ ...damaged(RECORDS), reason: "missing" }]);
  });

  const shown = (entry: { seq: number } | Lost) => ("last" in entry ? [entry.seq, entry.last] : entry.seq);

  /** What a reader gets, in order: a number for each record, a pair for each `lost` run. */
  function follow(from: number, by = store): (number | number[])[] {
    const told: (number | number[])[] = [];
    by.subscribe(ID, { from }, (batch) => void told.push(...batch.map(shown)));
    return told;
  }

  async function damageRecords(...records: number[]): Promise<void> {
    const bytes = Buffer.from(sound);
    for (const record of records) bytes[lineBreaks()[record]! - 3]! ^= 1;
    await writeFile(segment, bytes);
  }

  it("is reported to followers and readers once and in its place, adjacent records together", async () => {
    await damageRecords(1, 4, 5, RECORDS);
    const tail = [6, 7, 8, [RECORDS, RECORDS]];
    const all = [[1, 1], 2, 3, [4, 5], ...tail];
    const [fromStart, fromInside, fromBehind] = [follow(0), follow(4), follow(5)];
    await expect.poll(() => [fromStart, fromInside, fromBehind]).toEqual([all, [[5, 5], ...tail], tail]);
    const told: (number | number[])[] = [];
    for await (const entry of store.read(ID)) told.push(shown(entry));
    expect(told).toEqual(all);
  });

  it("is also reported to a live follower, among the records that another process wrote", async () => {
    await damageRecords(4);
    const bytes = await readFile(segment);
    await writeFile(segment, bytes.subarray(0, lineBreaks()[2]! + 1));
    const other = createFileStore<Note, object>({ root });
    const told = follow(0, other);
    await expect.poll(() => told).toEqual([1, 2]);
    await writeFile(segment, bytes);
    await expect.poll(() => told).toEqual([1, 2, 3, [4, 4], 5, 6, 7, 8, 9]);
    await other.close();
  });

  it("at the beginning of the log is reported as missing when its segment is gone", async () => {
    const writer = await store.open(ID);
    writer.append([{ type: "note", text: `n ${RECORDS + 1} é "q"` }]);
    await writer.close();
    await rm(segment);
    const lost = [{ type: "lost", seq: 1, last: RECORDS, reason: "missing" }];
    expect(await readBack()).toEqual({ seqs: [RECORDS + 1], lost });
    expect(await store.lastSeq(ID)).toBe(RECORDS + 1);
  });

  it("that contains many beginnings of records is skipped in bounded time", { timeout: 60_000 }, async () => {
    const head = '{"seq":10,"id":"evt-00000000","x":"';
    const hostile = Buffer.from(`${`${head}${"y".repeat(1 << 20)}`.repeat(40)}\n`);
    await writeFile(segment, Buffer.concat([sound, hostile]));
    expect((await readBack()).seqs).toEqual(upTo(RECORDS));
  });
});

describe("a log without a readable record", () => {
  for (const [what, spoil] of [
    ["is gone", (path: string) => rm(path)],
    ["holds only zeros", (path: string) => writeFile(path, Buffer.alloc(sound.length))],
  ] as const)
    it(`is reported as damaged instead of opened as a fresh session when it ${what}`, async () => {
      await store.writeSummary(ID, { turns: 3 });
      await spoil(segment);
      const refused = { code: "damaged", message: expect.stringMatching(/is damaged: .*backup, or delete it$/) };
      await expect(store.open(ID)).rejects.toMatchObject(refused);
      await expect(readBack()).rejects.toMatchObject(refused);
      await expect(store.subscribe(ID, { from: 0 }, () => {}).ended).rejects.toMatchObject(refused);
      await expect(store.copy(ID, ID.replace("aaaa", "bbbb"), { upTo: 1, summary: {} })).rejects.toMatchObject(refused);
      expect((await store.list()).sessions.map(({ id }) => id)).toEqual([ID]);
      await store.delete(ID);
      expect(await store.has(ID)).toBe(false);
    });

  it("is reported as damaged when its summary holds only zeros, too", async () => {
    await writeFile(join(root, "eventlog", ID, "summary.json"), Buffer.alloc(100));
    await writeFile(segment, Buffer.alloc(sound.length));
    await expect(store.open(ID)).rejects.toMatchObject({ code: "damaged", message: /neither its summary nor its log/ });
  });

  it("is opened as a fresh session when it had no prompt yet", async () => {
    await store.writeSummary(ID, { turns: 0 });
    await rm(segment);
    const writer = await store.open(ID);
    expect(writer.lastSeq).toBe(0);
    await writer.close();
  });
});
