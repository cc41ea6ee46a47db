import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createFileStore, type EventBody, type EventStore, type LogWriter } from "../src/index.js";

interface Note extends EventBody {
  readonly text: string;
}

const ID = "otter-20260425T120300-aaaa1111";
const TEXTS = {
  "no text": "",
  "plain text": "a plain one",
  "a line break and quotes": 'two\nlines "quoted" \\ and \u2028',
  "two bytes a character": "é".repeat(40),
  "three and four bytes": "漢字 🦦",
  "half a surrogate pair": "\ud83e",
  "a long text": "x".repeat(5_000),
  "more than the scratch memory holds": "ü".repeat(200_000),
};
let root: string;
let store: EventStore<Note, object>;
let writer: LogWriter<Note>;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "line-"));
  store = createFileStore<Note, object>({ root });
  writer = await store.create(ID, {});
});
afterEach(async () => {
  await store.close();
  await rm(root, { recursive: true, force: true });
});

async function linesOnDisk(): Promise<string[]> {
  const directory = join(root, "eventlog", ID);
  const name = (await readdir(directory)).find((file) => file.endsWith(".ndjson"))!;
  return (await readFile(join(directory, name), "utf8")).split("\n").slice(1, -1);
}

for (const [what, text] of Object.entries(TEXTS)) {
  it(`contains the checksum of the line with zeros in the checksum's place: ${what}`, async () => {
    const entries = [
      ...writer.append([{ type: "note", text: "before" }]),
      ...writer.append([{ type: "note", text }]),
      ...writer.append([{ type: "note", text: "after" }]),
    ];
    const asked = entries[1]!.line;
    await writer.written();
    const lines = await linesOnDisk();
    expect(lines).toEqual(entries.map((entry) => entry.line));
    expect(lines[1]).toBe(asked);
    for (const line of lines) {
      const id = line.slice(line.indexOf("evt-"), line.indexOf("evt-") + 12);
      expect(id).toBe(`evt-${crc32(line.replace(id, "evt-00000000")).toString(16).padStart(8, "0")}`);
    }
    expect(entries[1]!.event).toEqual(JSON.parse(lines[1]!));
    expect(Object.keys(entries[1]!.event)).toEqual(["seq", "id", "type", "text", "ts"]);
  });
}

it("is right for every line of a large batch", async () => {
  const events = Array.from({ length: 20_000 }, (_, i) => ({ type: "note", text: `${"é".repeat(i % 3)} ${i}` }));
  writer.append(events);
  await writer.written();
  const read: string[] = [];
  for await (const entry of store.read(ID)) read.push("line" in entry ? entry.event.text : "lost");
  expect(read).toEqual(events.map((event) => event.text));
});
