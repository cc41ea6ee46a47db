import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { appendFile, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { crc32 } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFileStore, type EventBody, type EventStore, type FileStoreOptions, LIMITS } from "../src/index.js";
import { readLog } from "./read-log.js";

interface Note extends EventBody {
  readonly text?: string;
}

const ID = "otter-20260425T120300-aaaa1111";
let root: string;
let stores: EventStore<Note, object>[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "file-store-"));
  stores = [];
});
afterEach(async () => {
  for (const store of stores) await store.close();
  await rm(root, { recursive: true, force: true });
});

function openStore(options: Partial<FileStoreOptions> = {}): EventStore<Note, object> {
  const store = createFileStore<Note, object>({ root, ...options });
  stores.push(store);
  return store;
}

const directory = (): string => join(root, "eventlog", ID);

async function segments(): Promise<string[]> {
  return (await readdir(directory())).filter((name) => name.endsWith(".ndjson")).sort();
}

async function texts(store: EventStore<Note, object>): Promise<(string | undefined)[]> {
  const { records, lost } = await readLog(store, ID);
  expect(lost).toEqual([]);
  return records.map((entry) => entry.event.text);
}

describe("a session that is created", () => {
  it("appears in one step: of many creators one succeeds, and no reader sees it half made", async () => {
    const creators = Array.from({ length: 20 }, () => openStore());
    const results = await Promise.allSettled(creators.map((store) => store.create(ID, { run_id: ID })));
    expect(results.filter((result) => result.status === "fulfilled")).toHaveLength(1);
    for (const result of results) if (result.status === "rejected") expect(result.reason.code).toBe("exists");
    expect(await readdir(join(root, "eventlog"))).toEqual([ID]);
    expect((await readdir(directory())).sort()).toEqual(["claim.1", "summary.json"]);
  });

  it("leaves no files when creating it fails", async () => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    await expect(openStore().create(ID, circle)).rejects.toMatchObject({ code: "invalid_event" });
    await writeFile(join(root, "run"), "a file where heartbeats should go");
    await expect(openStore().create(ID, {})).rejects.toMatchObject({ code: "io" });
    expect(await readdir(join(root, "eventlog"))).toEqual([]);
    expect(await openStore().has(ID)).toBe(false);
  });
});

describe("the layout on disk", () => {
  it("is private, named by first number, and starts with a header", async () => {
    const store = openStore();
    const writer = await store.create(ID, { run_id: ID });
    writer.append([{ type: "note", text: "a" }]);
    await writer.durable();
    const [name] = await segments();
    expect(name).toMatch(/^event-000001-[0-9a-f]{8}\.ndjson$/);
    expect((await stat(directory())).mode & 0o777).toBe(0o700);
    expect((await stat(join(directory(), name!))).mode & 0o777).toBe(0o600);
    const [header, record] = (await readFile(join(directory(), name!), "utf8")).split("\n");
    expect(JSON.parse(header!)).toMatchObject({ segment: 1, fence: 1, prev: null, counts: {} });
    expect(JSON.parse(record!)).toMatchObject({ seq: 1, type: "note", text: "a" });
    expect(JSON.parse(await readFile(join(directory(), "summary.json"), "utf8"))).toEqual({ run_id: ID });
  });

  it("rolls at 4 MiB and reads across", async () => {
    const store = openStore({ durability: "none" });
    const writer = await store.create(ID, {});
    for (let i = 0; i < 90; i++) writer.append([{ type: i % 2 ? "odd" : "even", text: "x".repeat(100_000) }]);
    await writer.written();
    const names = await segments();
    expect(names.length).toBeGreaterThanOrEqual(3);
    for (const name of names) expect((await stat(join(directory(), name))).size).toBeLessThan(4.3 * 1024 * 1024);
    const header = JSON.parse((await readFile(join(directory(), names[1]!), "utf8")).split("\n", 1)[0]!);
    expect(header.prev).toMatchObject({ name: names[0] });
    // Version 0.1 takes a header without `counts` for a damaged one.
    expect(header.counts).toEqual({});
    const seqs = [];
    for await (const entry of store.read(ID, { from: 50, to: 80 })) seqs.push(entry.seq);
    expect(seqs).toEqual(Array.from({ length: 30 }, (_, i) => 51 + i));
  });

  it("gets no segment for a session that is opened and not written", async () => {
    const store = openStore();
    await (await store.create(ID, {})).close();
    await (await store.open(ID)).close();
    expect(await segments()).toEqual([]);
  });

  it("is refused with a clear message when its format is newer", async () => {
    const store = openStore();
    await (await store.create(ID, {})).close();
    await writeFile(join(directory(), "event-000001-00000000.ndjson"), '{"segment":2,"fence":1}\n');
    await expect(store.open(ID)).rejects.toMatchObject({ code: "unsupported_format", message: /format 2/ });
    await expect(texts(store)).rejects.toMatchObject({ code: "unsupported_format" });
  });

  it("is read on when a header is damaged", async () => {
    const store = openStore();
    for (const text of ["a", "b", "c"]) {
      const writer = await (text === "a" ? store.create(ID, {}) : store.open(ID));
      writer.append([{ type: "note", text }]);
      await writer.close();
    }
    const [, middle] = await segments();
    const path = join(directory(), middle!);
    await writeFile(path, (await readFile(path, "utf8")).replace('"fence"', '"fXnce"'));
    expect(await texts(store)).toEqual(["a", "b", "c"]);
    expect(await store.lastSeq(ID)).toBe(3);
  });
});

describe("replays", () => {
  it("read through the same memory, however many there are", async () => {
    const store = openStore();
    const writer = await store.create(ID, {});
    writer.append([{ type: "note", text: "a" }]);
    await writer.close();
    await texts(store);
    const before = process.memoryUsage().external;
    let peak = before;
    for (let replays = 0; replays < 100; replays++) {
      expect(await texts(store)).toEqual(["a"]);
      expect(await store.lastSeq(ID)).toBe(1);
      peak = Math.max(peak, process.memoryUsage().external);
    }
    // A chunk is 256 KiB.
    expect((peak - before) / 2 ** 20).toBeLessThan(4);
  });

  it("do not hold up others while their readers wait, however many there are", async () => {
    const store = openStore();
    const writer = await store.create(ID, {});
    for (let i = 0; i < 100; i++) writer.append([{ type: "note", text: "x".repeat(40_000) }]);
    await writer.durable();
    const stop = new AbortController();
    let begun = 0;
    for (let i = 0; i < 300; i++) {
      store.subscribe(ID, { from: 0, signal: stop.signal }, () => {
        begun++;
        return new Promise(() => {});
      });
    }
    await expect.poll(() => begun, { timeout: 10_000 }).toBe(300);
    expect(await texts(store)).toHaveLength(100);
    expect((await readdir("/dev/fd")).length).toBeLessThan(300);
    stop.abort();
    await writer.close();
  });

  it("end with their reader's error when it fails", async () => {
    const store = openStore();
    const writer = await store.create(ID, {});
    writer.append([{ type: "note", text: "a" }]);
    await writer.close();
    const reason = new Error("enough");
    const { ended } = store.subscribe(ID, { from: 0 }, () => Promise.reject(reason));
    await expect(ended).rejects.toBe(reason);
  });
});

it("a copy that fails keeps no file open", { tags: ["needs-linux"] }, async () => {
  const store = openStore();
  const writer = await store.create(ID, {});
  writer.append([{ type: "note", text: "a" }]);
  await writer.close();
  const line = (checksum: string): string => `{"seq":2,"id":"evt-${checksum}","type":"note",no JSON}`;
  const checksum = crc32(line("00000000")).toString(16).padStart(8, "0");
  await appendFile(join(directory(), (await segments())[0]!), `${line(checksum)}\n`);
  const copy = ID.replace("aaaa", "bbbb");
  await expect(store.copy(ID, copy, { upTo: 2, summary: {} })).rejects.toMatchObject({ code: "io" });
  const targets = (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ""));
  expect((await Promise.all(targets)).filter((target) => target.includes(copy))).toEqual([]);
  expect(await store.has(copy)).toBe(false);
});

describe("succession", () => {
  it("ignores the later writes of a superseded writer", async () => {
    const first = openStore();
    const old = await first.create(ID, {});
    old.append([{ type: "note", text: "before" }]);
    await old.durable();
    // As if the holder had died and the system had reused its pid.
    const claim = join(directory(), "claim.1");
    await writeFile(claim, JSON.stringify({ ...JSON.parse(await readFile(claim, "utf8")), start: "1" }));
    const second = openStore();
    const heir = await second.open(ID);
    old.append([{ type: "note", text: "zombie" }]);
    await old.written();
    heir.append([{ type: "note", text: "heir" }]);
    await heir.durable();
    expect(await texts(second)).toEqual(["before", "heir"]);
    expect(await texts(openStore())).toEqual(["before", "heir"]);
  });

  it("stops a frozen writer before it touches a file, and names the new holder of its session", async () => {
    let frozenMs = 0;
    const monotonic = () => process.uptime() * 1000 + frozenMs;
    const old = await openStore({ program: "otter", monotonic }).create(ID, {});
    old.requireHeld();
    const second = openStore({ program: "ferret", monotonic });
    await expect(second.open(ID)).rejects.toMatchObject({
      code: "claimed",
      message: expect.stringMatching(/ is held by otter, process \d+ on \S+, since 20/),
      holder: { program: "otter", pid: process.pid },
    });
    frozenMs = 31_000;
    await second.open(ID);
    // No timer ran before this, as in a process that was frozen.
    expect(old.lost.aborted).toBe(false);
    const fenced = expect.objectContaining({ code: "fenced", holder: expect.objectContaining({ program: "ferret" }) });
    expect(() => old.requireHeld()).toThrow(fenced);
    expect(old.lost.aborted).toBe(true);
    expect(() => old.append([{ type: "note" }])).toThrow(fenced);
    await expect(old.close()).rejects.toEqual(fenced);
  });

  it("takes over at once from a killed process, with every acknowledged record", async () => {
    const writer = new URL("../faults/writer.mjs", import.meta.url).pathname;
    const child = spawn(process.execPath, [writer, root, "1"], { stdio: ["ignore", "pipe", "inherit"] });
    const closed = new Promise((resolve) => child.once("close", resolve));
    const ack = await new Promise<string>((resolve) => child.stdout.once("data", (chunk) => resolve(String(chunk))));
    child.kill("SIGKILL");
    await closed;
    const [id, seq] = ack.trim().split("\n").at(-1)!.split(" ");
    const folder = join(root, "eventlog", id!);
    await writeFile(join(folder, "summary.json.tmp-0123456789ab"), '{"half":');
    const heir = await openStore().open(id!);
    expect(heir.lastSeq).toBeGreaterThanOrEqual(Number(seq));
    expect((await readdir(folder)).filter((name) => name.includes("tmp"))).toEqual([]);
  });

  it("sweeps the drafts of sessions that no process holds, and no others", async () => {
    const draftIn = async (id: string) => {
      const path = join(root, "eventlog", id, "summary.json.tmp-0123456789ab");
      await writeFile(path, '{"half":');
      return path;
    };
    const [left, open, elsewhere] = ["left", "open", "elsewhere"];
    const store = openStore();
    await (await store.create(left, {})).close();
    await store.create(open, {});
    await openStore().create(elsewhere, {});
    const [abandoned, ...owned] = await Promise.all([left, open, elsewhere].map(draftIn));
    await writeFile(join(root, "eventlog", "no-session"), "");
    expect(await store.sweep({ dryRun: true })).toBe(1);
    expect(existsSync(abandoned!)).toBe(true);
    expect(await store.sweep()).toBe(1);
    expect(existsSync(abandoned!)).toBe(false);
    expect(owned.map((path) => existsSync(path))).toEqual([true, true]);

    await draftIn(left);
    await (await store.open(left)).close();
    expect(await store.sweep()).toBe(0);
  });

  it("reports a torn tail exactly once", async () => {
    const reports: string[] = [];
    const store = openStore({ onTornTail: (id, where) => reports.push(`${id} ${where}`) });
    const writer = await store.create(ID, {});
    writer.append([{ type: "note", text: "a" }]);
    await writer.close();
    await appendFile(join(directory(), (await segments())[0]!), '{"seq":2,"id":"evt-0000');
    for (const text of ["b", "c"]) {
      const next = await store.open(ID);
      next.append([{ type: "note", text }]);
      await next.close();
    }
    expect(reports).toEqual([expect.stringMatching(new RegExp(`^${ID} event-000001-[0-9a-f]{8}\\.ndjson@\\d+$`))]);
    expect(await texts(store)).toEqual(["a", "b", "c"]);
  });
});

describe("a write that fails", () => {
  const restore = async (): Promise<void> => {
    await mkdir(directory());
    await writeFile(join(directory(), "summary.json"), "{}");
  };

  it("rejects the waiting calls and takes its numbers back, and the next write may succeed", async () => {
    const store = openStore();
    const writer = await store.create(ID, {});
    const seen: number[] = [];
    store.subscribe(ID, { from: 0 }, (batch) => {
      for (const entry of batch) seen.push(entry.seq);
    });
    await rm(directory(), { recursive: true });
    writer.append([{ type: "note", text: "lost" }]);
    await expect(writer.durable()).rejects.toMatchObject({ code: "io", message: /ENOENT/ });
    expect(writer.lastSeq).toBe(0);
    expect(() => writer.append([{ type: "note" }])).toThrow(/ENOENT/);
    await restore();
    expect(writer.append([{ type: "note", text: "kept" }])[0]?.seq).toBe(1);
    await writer.durable();
    expect(await texts(store)).toEqual(["kept"]);
    await expect.poll(() => seen).toEqual([1]);
  });

  it("rejects the next append when no caller waited", async () => {
    const store = openStore();
    const writer = await store.create(ID, {});
    await rm(directory(), { recursive: true });
    writer.append([{ type: "note" }]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await restore();
    expect(() => writer.append([{ type: "note" }])).toThrow(/ENOENT/);
    expect(writer.append([{ type: "note" }])[0]?.seq).toBe(1);
    await writer.durable();
  });
});

describe("followers", () => {
  it("in another process see an append within 250 ms", async () => {
    const writer = await openStore().create(ID, {});
    const follower = openStore();
    const delays: number[] = [];
    let sent = 0;
    follower.subscribe(ID, { from: 0 }, () => {
      delays.push(performance.now() - sent);
    });
    for (let i = 1; i <= 3; i++) {
      sent = performance.now();
      writer.append([{ type: "note" }]);
      await expect.poll(() => delays.length, { interval: 5, timeout: 5_000 }).toBe(i);
    }
    expect(Math.min(...delays)).toBeLessThan(250);
  });

  it("see the first records of a segment that was empty for a while", async () => {
    const store = openStore();
    await (await store.create(ID, {})).close();
    const writer = await store.open(ID);
    writer.append([{ type: "note" }]);
    await writer.close();
    const segment = join(directory(), (await segments())[0]!);
    const content = await readFile(segment);
    await writeFile(segment, "");
    let seen = 0;
    openStore().subscribe(ID, { from: 0 }, (batch) => {
      seen += batch.length;
    });
    await delay(500);
    await writeFile(segment, content);
    await expect.poll(() => seen, { timeout: 5_000 }).toBe(1);
  });

  it("read across many segments that appear at once", async () => {
    const writer = await openStore({ durability: "none" }).create(ID, {});
    const seqs: number[] = [];
    openStore().subscribe(ID, { from: 0 }, (batch) => {
      for (const entry of batch) seqs.push(entry.seq);
    });
    for (let i = 0; i < 60; i++) writer.append([{ type: "note", text: "é".repeat(100_000) }]);
    await writer.written();
    await expect.poll(() => seqs.length, { timeout: 10_000 }).toBe(60);
    expect(seqs).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
  });
});

describe("a summary", () => {
  it("that is too long is refused, and the one before it stays", async () => {
    const store = openStore();
    await store.create(ID, { title: "small" });
    const large = { title: "é".repeat(LIMITS.summaryBytes / 2) };
    await expect(store.writeSummary(ID, large)).rejects.toMatchObject({ code: "too_large" });
    await expect(store.create("other", large)).rejects.toMatchObject({ code: "too_large" });
    expect((await store.list()).sessions.map((session) => session.summary)).toEqual([{ title: "small" }]);
  });
});

describe("time stamps and lists", () => {
  it("never decrease, whatever the clock does", async () => {
    const times = [1_000_000, 999_000, 1_000_500, 5, 1_000_501];
    const store = openStore({ clock: () => times.shift() ?? 0 });
    const writer = await store.create(ID, {});
    for (let i = 0; i < 5; i++) writer.append([{ type: "note" }]);
    await writer.close();
    const again = await store.open(ID);
    again.append([{ type: "note" }]);
    await again.close();
    const stamps = (await readLog(store, ID)).records.map((entry) => entry.event.ts);
    expect(stamps).toEqual([...stamps].sort());
    expect(stamps).toHaveLength(6);
  });

  it("do not keep in memory the log they were read from", async () => {
    const ids = Array.from({ length: 32 }, (_, i) => `otter-${i}`);
    const store = openStore({ durability: "none" });
    for (const id of ids) {
      const writer = await store.create(id, {});
      writer.append(Array.from({ length: 200 }, () => ({ type: "note", text: "x".repeat(1000) })));
      await writer.close();
    }
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    collect();
    const before = process.memoryUsage().heapUsed;
    for (const id of ids) await store.open(id);
    await delay(10);
    collect();
    expect((process.memoryUsage().heapUsed - before) / ids.length).toBeLessThan(50_000);
  });

  it("show sessions that another process makes or deletes at once, however often they were asked before", async () => {
    const [here, there] = [openStore(), openStore()];
    const ids = async (): Promise<string[]> => (await here.list()).sessions.map((session) => session.id);
    await (await there.create(ID, {})).close();
    await delay(300);
    for (let i = 0; i < 3; i++) expect(await ids()).toEqual([ID]);
    await (await there.create("otter-20260425T120301-bbbb2222", {})).close();
    expect(await ids()).toEqual(["otter-20260425T120301-bbbb2222", ID]);
    await delay(300);
    expect(await ids()).toHaveLength(2);
    await there.delete(ID);
    expect(await ids()).toEqual(["otter-20260425T120301-bbbb2222"]);
  });

  it("remove or replace a session only when every file in its directory is the store's", async () => {
    const store = openStore();
    await (await store.create(ID, {})).close();
    const letters = join(root, "eventlog", "letters");
    mkdirSync(letters);
    for (const directory of [letters, join(root, "eventlog", ID)]) writeFileSync(join(directory, "dear.txt"), "kept");
    for (const id of ["letters", ID]) {
      const refused = { code: "io", message: expect.stringContaining("dear.txt") };
      await expect(store.delete(id)).rejects.toMatchObject(refused);
      await expect(store.importLog(id, { summary: {}, events: [], replace: true })).rejects.toMatchObject(refused);
    }
    expect(readdirSync(letters)).toEqual(["dear.txt"]);
    rmSync(join(root, "eventlog", ID, "dear.txt"));
    await store.delete(ID);
    expect(await store.has(ID)).toBe(false);
  });

  it("show a session that was made while an earlier list was still being put together", async () => {
    const store = openStore();
    await (await store.create(ID, {})).close();
    const earlier = store.list();
    await (await store.create("otter-20260425T120301-bbbb2222", {})).close();
    const later = store.list();
    await earlier;
    expect((await later).sessions).toHaveLength(2);
  });

  it("survive a missing, stale or damaged index, and leave out sessions without a summary", async () => {
    const ids = Array.from(
      { length: 300 },
      (_, i) => `otter-20260425T12${String(10 + Math.floor(i / 60))}${String(i % 60).padStart(2, "0")}-0000aaaa`,
    );
    for (const id of ids) {
      await mkdir(join(root, "eventlog", id), { recursive: true });
      await writeFile(join(root, "eventlog", id, "summary.json"), JSON.stringify({ id }));
    }
    await mkdir(join(root, "eventlog", "empty"));
    await mkdir(join(root, "eventlog", "stillborn"));
    await writeFile(join(root, "eventlog", "stillborn", "summary.json"), "");
    await writeFile(join(root, "eventlog", "stillborn", "event-000001-aaaaaaaa.ndjson"), "");
    await writeFile(join(root, "eventlog", ids[0]!, "summary.json"), "not json");
    const record = { type: "note", metadata: {}, ts: "2026-04-25T12:03:04Z" };
    await writeFile(join(root, "eventlog", ids[0]!, "event-000001-aaaaaaaa.json"), JSON.stringify(record));
    const titles = async (): Promise<number> => {
      const unreadable: string[] = [];
      const { sessions } = await openStore().list({ onUnreadable: (id) => unreadable.push(id) });
      // A session that never had a record has lost nothing.
      expect(unreadable).toEqual([ids[0]]);
      for (const { id, summary } of sessions) expect(summary).toMatchObject({ id });
      return sessions.length;
    };
    expect(await titles()).toBe(299);
    const index = join(root, "eventlog", "index.ndjson");
    const saved = await readFile(index, "utf8");
    await writeFile(index, saved.replaceAll(ids[5]!, ids[6]!));
    expect(await titles()).toBe(299);
    await writeFile(index, "\u0000".repeat(500));
    expect(await titles()).toBe(299);
    await rm(join(root, "eventlog", ids[1]!), { recursive: true });
    expect(await titles()).toBe(298);
  });

  it("keep an index that is many reads long, without the one row that is longer than a read", async () => {
    const ids = Array.from({ length: 300 }, (_, i) => `otter-20260425T120300-${String(i).padStart(8, "0")}`);
    // Characters of three bytes, so that reads end in the middle of one.
    const title = (i: number): string => "獺".repeat(i === 7 ? LIMITS.readBytes : 1500 + i);
    for (const [i, id] of ids.entries()) {
      await mkdir(join(root, "eventlog", id), { recursive: true });
      await writeFile(join(root, "eventlog", id, "summary.json"), JSON.stringify({ title: title(i) }));
    }
    const listed = async (): Promise<Map<string, unknown>> =>
      new Map((await openStore().list()).sessions.map(({ id, summary }) => [id, summary]));
    const summaries = new Map<string, unknown>(ids.map((id, i) => [id, { title: title(i) }]));
    expect(await listed()).toEqual(summaries);

    const index = join(root, "eventlog", "index.ndjson");
    const lines = (await readFile(index, "utf8")).slice("00000000\n".length);
    expect(lines.split("\n").length - 1).toBe(299);
    expect(lines.length).toBeGreaterThan(LIMITS.readBytes);
    // A title that only the index holds proves that the next store reads the index.
    const marked = lines.replace(`"${title(299)}"`, '"from the index"');
    await writeFile(index, `${crc32(marked).toString(16).padStart(8, "0")}\n${marked}`);
    expect(await listed()).toEqual(summaries.set(ids[299]!, { title: "from the index" }));
  });
});
