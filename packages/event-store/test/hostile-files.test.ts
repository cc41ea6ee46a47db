import { execFile } from "node:child_process";
import { once } from "node:events";
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { crc32 } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFileStore, type EventBody, type EventStore, LIMITS, type Lost } from "../src/index.js";
import { readLog } from "./read-log.js";

interface Note extends EventBody {
  readonly text: string;
}

const ID = "otter-20260425T120300-aaaa1111";
const OTHER = "otter-20260425T120301-bbbb2222";
let root: string;
let store: EventStore<Note, object>;
const inSession = (name: string): string => join(root, "eventlog", ID, name);

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "hostile-"));
  store = createFileStore<Note, object>({ root });
  for (const id of [ID, OTHER]) {
    const writer = await store.create(id, { run_id: id });
    for (let i = 1; i <= 5; i++) writer.append([{ type: "note", text: `${i}` }]);
    await writer.close();
  }
});
afterEach(async () => {
  await store.close();
  await rm(root, { recursive: true, force: true });
});

async function read(id: string): Promise<{ texts: string[]; lost: Lost[] }> {
  const { records, lost } = await readLog(store, id);
  return { texts: records.map((entry) => entry.event.text), lost };
}

/** The kinds of entries that may have a file's name. */
const IMPOSTORS: Record<string, (path: string) => Promise<unknown>> = {
  "a pipe": (path) => promisify(execFile)("mkfifo", [path]),
  "a directory": (path) => mkdir(path),
  "a link to itself": (path) => symlink(path, path),
  "a link to a device": (path) => symlink("/dev/zero", path),
  "a link to nothing": (path) => symlink(`${path}-missing`, path),
  "a socket": (path) => listenAt(path),
};

/** A socket's path has at most about 100 bytes, so it is made at a short path and moved. */
async function listenAt(path: string): Promise<void> {
  const short = join(root, "s");
  const server = createServer().listen(short);
  await once(server, "listening");
  await rename(short, path);
  server.close();
  await once(server, "close");
}

describe("anything but a directory", { tags: ["needs-unix"] }, () => {
  const elsewhere = (): string => join(root, "elsewhere");
  const places: Record<string, (path: string) => Promise<unknown>> = {
    ...IMPOSTORS,
    "a directory": (path) => writeFile(path, ""),
    "a link to a session": async (path) => symlink(elsewhere(), path),
  };
  for (const [what, make] of Object.entries(places)) {
    it(`is not a session: ${what === "a directory" ? "a file" : what}`, async () => {
      await rename(inSession("."), elsewhere());
      const before = await readdir(elsewhere());
      await make(join(root, "eventlog", ID));
      expect((await store.list()).sessions.map((session) => session.id)).toEqual([OTHER]);
      expect(await store.has(ID)).toBe(false);
      const missing = expect.objectContaining({ code: "not_found" });
      await expect(store.open(ID)).rejects.toEqual(missing);
      await expect(store.lastSeq(ID)).rejects.toEqual(missing);
      await expect(read(ID)).rejects.toEqual(missing);
      await expect(store.subscribe(ID, { from: 0 }, () => {}).ended).rejects.toEqual(missing);
      await expect(store.create(ID, {})).rejects.toMatchObject({ code: "exists" });
      await store.delete(ID);
      expect(await readdir(elsewhere())).toEqual(before);
    });
  }
});

describe("a session with something else in place of a file", { tags: ["needs-unix"] }, () => {
  for (const [what, make] of Object.entries(IMPOSTORS)) {
    it(`lists and reads the others when its summary is ${what}`, async () => {
      await rm(inSession("summary.json"));
      await make(inSession("summary.json"));
      const { sessions } = await createFileStore<Note, object>({ root }).list();
      expect(sessions.map((session) => session.id)).toEqual([OTHER]);
      expect((await read(ID)).texts).toHaveLength(5);
    });

    it(`can be opened when ${what} has the name of an unfinished claim`, async () => {
      await make(inSession("claim.tmp-000000000000"));
      const writer = await store.open(ID);
      expect(writer.lastSeq).toBe(5);
      await writer.close();
    });
  }

  for (const what of Object.keys(IMPOSTORS)) {
    it(`is read without ${what} that has a segment's name`, async () => {
      await IMPOSTORS[what]!(inSession("event-000006-aaaaaaaa.ndjson"));
      await IMPOSTORS[what]!(inSession("event-000009-aaaaaaaa.ndjson"));
      expect(await read(ID)).toEqual({ texts: ["1", "2", "3", "4", "5"], lost: [] });
      expect(await store.lastSeq(ID)).toBe(5);
    });

    it(`reports an event file as lost when that is ${what}`, async () => {
      const old = join(root, "eventlog", "otter-20260425T120302-cccc3333");
      await mkdir(old);
      await writeFile(join(old, "event-000000-aaaaaaaa.json"), JSON.stringify({ id: "a", type: "note", text: "1" }));
      await IMPOSTORS[what]!(join(old, "event-000001-aaaaaaaa.json"));
      const { texts, lost } = await read("otter-20260425T120302-cccc3333");
      expect(texts).toEqual(["1"]);
      expect(lost.map((one) => one.seq)).toEqual([2]);
    });
  }

  it("is not taken over by force when its claim is a pipe", async () => {
    await rm(inSession("claim.1"));
    await IMPOSTORS["a pipe"]!(inSession("claim.1"));
    await expect(store.open(ID)).rejects.toMatchObject({ code: "claimed" });
    expect((await read(ID)).texts).toHaveLength(5);
  });
});

describe("a segment", () => {
  const segment = async (): Promise<string> =>
    inSession((await readdir(inSession("."))).find((name) => name.endsWith(".ndjson"))!);

  it("that ends in binary bytes is read up to them", async () => {
    await appendFile(await segment(), Buffer.from([0xff, 0xfe, 0x0a, 0xc3, 0x28, 0x0a, 0x00, 0x80]));
    expect((await read(ID)).texts).toHaveLength(5);
    const writer = await store.open(ID);
    expect(writer.append([{ type: "note", text: "6" }])[0]!.seq).toBe(6);
    await writer.close();
    expect((await read(ID)).texts).toHaveLength(6);
  });

  it("that ends in a hole of 300 MiB is read in bounded memory", { timeout: 120_000 }, async () => {
    await truncate(await segment(), 300 * 1024 * 1024);
    expect((await read(ID)).texts).toHaveLength(5);
    expect(await store.lastSeq(ID)).toBe(5);
  });

  it("that ends in millions of lines that are not records is read in bounded time and memory", async () => {
    for (const junk of ["\n".repeat(8 << 20), `${"x".repeat(49)}\n`.repeat(150_000)]) {
      await appendFile(await segment(), junk);
      expect((await read(ID)).texts).toHaveLength(5);
      expect(await store.lastSeq(ID)).toBe(5);
    }
  });

  it("that holds a line longer than any record is followed past it", async () => {
    const path = await segment();
    const bytes = await readFile(path);
    const last = bytes.lastIndexOf(10, -2) + 1;
    await truncate(path, last);
    const seen: number[] = [];
    const here = createFileStore<Note, object>({ root });
    here.subscribe(ID, { from: 0 }, (batch) => void seen.push(...batch.map((entry) => entry.seq)));
    await expect.poll(() => seen).toEqual([1, 2, 3, 4]);
    await appendFile(path, Buffer.alloc(LIMITS.recordBytes + 1000, "x"));
    await appendFile(path, "\n");
    await appendFile(path, bytes.subarray(last));
    // Longer than the usual second: a busy machine takes more than that to read 64 MiB.
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual([1, 2, 3, 4, 5]);
    await here.close();
  });

  it("that holds another segment's records under a higher number is ignored", async () => {
    await writeFile(inSession("event-000900-aaaaaaaa.ndjson"), (await readFile(await segment(), "utf8")).slice(9));
    expect((await read(ID)).texts).toEqual(["1", "2", "3", "4", "5"]);
    expect(await store.lastSeq(ID)).toBe(5);
  });

  it("with a sound checksum over a senseless header is ignored", async () => {
    const nonsense = [
      '{"segment":1}',
      '{"segment":1,"fence":"9","prev":{"name":5,"bytes":-7},"counts":[1]}',
      '{"segment":1,"fence":1e308,"prev":{"name":"../x","bytes":1e99},"counts":{"a":"b"}}',
      '{"segment":1e400}',
    ];
    for (const [i, header] of nonsense.entries()) {
      const blank = `${header.slice(0, -1)},"check":"00000000"}`;
      const line = `${blank.slice(0, -10)}${crc32(blank).toString(16).padStart(8, "0")}"}\n`;
      await writeFile(inSession(`event-00000${6 + i}-aaaaaaaa.ndjson`), line);
    }
    const writer = await store.open(ID);
    writer.append([{ type: "note", text: "6" }]);
    await writer.close();
    expect((await read(ID)).texts).toEqual(["1", "2", "3", "4", "5", "6"]);
  });

  it("whose number is above the largest safe number is ignored", async () => {
    await writeFile(inSession("event-999999999999999-aaaaaaaa.ndjson"), "no header\n");
    await writeFile(inSession("event-000000-aaaaaaaa.ndjson"), "no header\n");
    expect((await read(ID)).texts).toEqual(["1", "2", "3", "4", "5"]);
    expect(await store.lastSeq(ID)).toBe(5);
  });
});

describe("the index", () => {
  const rows = [
    "",
    "nothing to see",
    `${OTHER} 1 2 3 {"forged":true}\n`,
    `["${OTHER}",1,2,3,{"forged":true}]`,
    `["${OTHER}",1,2,3,{"forged":true}]\n`,
    `["../../etc",1,2,3,{}]\n["__proto__",1,2,3,{}]\n`,
    `null\n[[],{},"1",null]\n`,
  ];
  for (const text of rows) {
    it(`with a sound checksum over ${JSON.stringify(text)} is used only where the disk agrees`, async () => {
      const check = crc32(text).toString(16).padStart(8, "0");
      await writeFile(join(root, "eventlog", "index.ndjson"), `${check}\n${text}`);
      const { sessions } = await createFileStore<Note, object>({ root }).list();
      expect(sessions.map((session) => session.summary)).toEqual([{ run_id: OTHER }, { run_id: ID }]);
    });
  }
});
