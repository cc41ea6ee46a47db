import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFileStore, type Damage, type EventBody, type EventStore } from "../src/index.js";

interface Note extends EventBody {
  readonly text: string;
}

const ID = "otter-20260425T120300-aaaa1111";
const RECORDS = 9;
let root: string;
let store: EventStore<Note, object>;
let segment: string;
let sound: Buffer;
let reports: Damage[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "damage-"));
  reports = [];
  store = createFileStore<Note, object>({ root, onDamage: (_id, damage) => reports.push(damage) });
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

async function readBack(): Promise<{ seqs: number[]; damage: Damage[] }> {
  const seqs: number[] = [];
  const damage: Damage[] = [];
  for await (const entry of store.read(ID, { onDamage: (one) => damage.push(one) })) {
    expect(entry.event.text).toBe(`n ${entry.seq} é "q"`);
    seqs.push(entry.seq);
  }
  return { seqs, damage };
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, i) => i + 1);

/** Where each line break is; the first one ends the header. */
function lineBreaks(): number[] {
  return [...sound.keys()].filter((at) => sound[at] === 10);
}

describe("a damaged line break", () => {
  for (const [which, record] of [
    ["the first", 1],
    ["a middle", 5],
    ["the last", RECORDS],
  ] as const) {
    it(`of ${which} record costs nothing, whichever bit it is`, async () => {
      const at = lineBreaks()[record]!;
      for (let bit = 0; bit < 8; bit++) {
        const bytes = Buffer.from(sound);
        bytes[at]! ^= 1 << bit;
        await writeFile(segment, bytes);
        expect(await readBack(), `bit ${bit}`).toEqual({ seqs: upTo(RECORDS), damage: [] });
        expect(await store.lastSeq(ID), `bit ${bit}`).toBe(RECORDS);
      }
    });
  }

  it("of the last record is reported as a torn tail when the log is continued, behind that record", async () => {
    const bytes = Buffer.from(sound);
    bytes[bytes.length - 1] = 0;
    await writeFile(segment, bytes);
    const writer = await store.open(ID);
    expect(reports).toEqual([
      { seq: null, last: null, where: expect.stringContaining(".ndjson@"), reason: "the log ended in a torn record" },
    ]);
    expect(writer.append([{ type: "note", text: `n ${RECORDS + 1} é "q"` }])[0]!.seq).toBe(RECORDS + 1);
    await writer.close();
    expect(await readBack()).toEqual({ seqs: upTo(RECORDS + 1), damage: [] });
  });

  it("followed by a torn record keeps the whole one", async () => {
    const breaks = lineBreaks();
    const bytes = Buffer.from(sound.subarray(0, breaks[RECORDS]! - 4));
    bytes[breaks[RECORDS - 1]!] = 0;
    await writeFile(segment, bytes);
    expect((await readBack()).seqs).toEqual(upTo(RECORDS - 1));
    expect(await store.lastSeq(ID)).toBe(RECORDS - 1);
  });

  it("of every line, made CR LF by an editor, costs nothing", async () => {
    await writeFile(segment, sound.toString().replaceAll("\n", "\r\n"));
    expect((await readBack()).seqs).toEqual(upTo(RECORDS));
  });
});

describe("a segment that was written anew after a failed sync", () => {
  for (const random of ["00000000", "ffffffff"]) {
    it(`counts in place of those before it, also as ${random}`, async () => {
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
  it("is the only one missing, and the only one reported, wherever the bit is", async () => {
    const breaks = lineBreaks();
    for (const record of [1, 5, RECORDS]) {
      for (let at = breaks[record - 1]! + 1; at < breaks[record]!; at++) {
        const bytes = Buffer.from(sound);
        bytes[at]! ^= 1 << (at % 8);
        await writeFile(segment, bytes);
        const { seqs, damage } = await readBack();
        expect(seqs, `byte ${at}`).toEqual(upTo(RECORDS).filter((seq) => seq !== record));
        expect(
          damage.map((one) => one.seq),
          `byte ${at}`,
        ).toEqual([record]);
      }
    }
  });

  it("is counted as what it was, wherever the bit is, once a segment behind it says how many there were", async () => {
    const writer = await store.open(ID);
    writer.append([{ type: "last", text: "" }]);
    await writer.close();
    const breaks = lineBreaks();
    for (let at = breaks[4]! + 1; at < breaks[5]!; at++) {
      const bytes = Buffer.from(sound);
      bytes[at]! ^= 1 << (at % 8);
      bytes[breaks[7]! - 3]! ^= 1;
      await writeFile(segment, bytes);
      const lost: Damage[] = [];
      for await (const _ of store.read(ID, { onDamage: (one) => lost.push(one) }));
      expect(
        lost.map(({ seq, types }) => ({ seq, types })),
        `byte ${at}`,
      ).toEqual([5, 7].map((seq) => ({ seq, types: { note: 1 } })));
      expect(await store.counts(ID, 8), `byte ${at}`).toEqual({ note: 8 });
    }
  });

  it("at the end of a log is counted as what its line still says, also by whoever continues", async () => {
    await damageRecords(4, 5);
    expect(await store.counts(ID, RECORDS)).toEqual({ note: RECORDS });
    const writer = await store.open(ID);
    writer.append([{ type: "last", text: "" }]);
    await writer.close();
    await damageRecords();
    expect(await store.counts(ID, RECORDS + 1)).toEqual({ note: RECORDS, last: 1 });
  });

  /** What a reader is told, in order: a number for a record, a pair for a run it will never get. */
  function follow(from: number, by = store): (number | number[])[] {
    const told: (number | number[])[] = [];
    by.subscribe(ID, { from }, (batch, { missing }) => {
      told.push(...missing.map((one) => [one.seq!, one.last!]), ...batch.map((entry) => entry.seq));
    });
    return told;
  }

  async function damageRecords(...records: number[]): Promise<void> {
    const bytes = Buffer.from(sound);
    for (const record of records) bytes[lineBreaks()[record]! - 3]! ^= 1;
    await writeFile(segment, bytes);
  }

  it("is told in its place, once, runs as one: to who follows and to who reads", async () => {
    await damageRecords(1, 4, 5, RECORDS);
    const tail = [6, 7, 8, [RECORDS, RECORDS]];
    const all = [[1, 1], 2, 3, [4, 5], ...tail];
    const [fromStart, fromInside, fromBehind] = [follow(0), follow(4), follow(5)];
    await expect.poll(() => [fromStart, fromInside, fromBehind]).toEqual([all, [[5, 5], ...tail], tail]);
    const told: (number | (number | null)[])[] = [];
    const onDamage = (one: Damage): void => void told.push([one.seq, one.last]);
    for await (const entry of store.read(ID, { onDamage })) told.push(entry.seq);
    expect(told).toEqual(all);
  });

  it("keeps nobody who leaves before it, and is not told to them", async () => {
    await damageRecords(4);
    const told: Damage[] = [];
    const leave = async (): Promise<number | undefined> => {
      for await (const entry of store.read(ID, { onDamage: (one) => told.push(one) })) return entry.seq;
      return undefined;
    };
    expect(await leave()).toBe(1);
    expect(told).toEqual([]);
  });

  it("is told live, too, to a follower that finds it among what another process wrote", async () => {
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

  it("that begins the log, because its segment is gone, is told as missing", async () => {
    const writer = await store.open(ID);
    writer.append([{ type: "note", text: `n ${RECORDS + 1} é "q"` }]);
    await writer.close();
    await rm(segment);
    const { seqs, damage } = await readBack();
    expect(seqs).toEqual([RECORDS + 1]);
    expect(damage).toEqual([
      { seq: 1, last: RECORDS, where: expect.any(String), reason: "missing", types: { note: RECORDS } },
    ]);
    expect(await store.lastSeq(ID)).toBe(RECORDS + 1);
  });

  it("that holds many beginnings of records is passed over in bounded time", { timeout: 60_000 }, async () => {
    const head = '{"seq":10,"id":"evt-00000000","x":"';
    const hostile = Buffer.from(`${`${head}${"y".repeat(1 << 20)}`.repeat(40)}\n`);
    await writeFile(segment, Buffer.concat([sound, hostile]));
    expect((await readBack()).seqs).toEqual(upTo(RECORDS));
  });
});
