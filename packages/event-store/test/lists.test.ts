import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createFileStore, type EventStore, LIMITS, type SummaryForm } from "../src/index.js";
import { readLog } from "./read-log.js";

interface Note {
  readonly type: string;
  readonly text?: string;
}

interface Brief {
  readonly cwd: string;
  readonly prompt: string;
  readonly turns: number;
  readonly model?: string;
  readonly state?: string;
}

/** A form that counts its calls. */
function countingForm() {
  const work = { read: 0, derived: 0, records: 0 };
  const form: SummaryForm<Note, Brief> = {
    read(_id, stored) {
      work.read++;
      const { prompt = "", turns = 0, ...rest } = stored as Partial<Brief>;
      return { cwd: "", ...rest, turns, prompt: JSON.parse(JSON.stringify(prompt.slice(0, 200))) };
    },
    isOutdated: (stored) => "old" in stored,
    birth: ({ cwd }) => ({ cwd }),
    unheld: (summary) => (summary.state === "running" ? { ...summary, state: "idle" } : summary),
    async derive(_id, known, entries) {
      work.derived++;
      const asked: Note[] = [];
      for await (const entry of entries) {
        work.records++;
        if ("line" in entry && entry.type === "prompt") asked.push(entry.event);
      }
      return { cwd: "", ...known, turns: asked.length, prompt: asked[0]?.text?.slice(0, 200) ?? "" };
    },
  };
  return { form, work };
}

function place(): string {
  const root = mkdtempSync(join(tmpdir(), "event-store-lists-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

function openStore(root: string, form: SummaryForm<Note, Brief>, clock = Date.now): EventStore<Note, Brief> {
  const store = createFileStore<Note, Brief>({ root, summaries: form, durability: "none", clock });
  onTestFinished(() => store.close());
  return store;
}

const ID = "otter-20260425T120300-aaaa1111";
const OTHER = "otter-20260425T120301-bbbb2222";
const UNASKED: Brief = { cwd: "/work", prompt: "", turns: 0 };

async function listed(store: EventStore<Note, Brief>): Promise<[string, Brief][]> {
  return (await store.list()).sessions.map(({ id, summary }) => [id, summary]);
}

describe("a summary beside a whole log", () => {
  const losses: Record<string, (path: string) => void> = {
    "is missing": (path) => rmSync(path),
    "is damaged": (path) => writeFileSync(path, '{"cwd": "/wo'),
    "is empty": (path) => writeFileSync(path, ""),
    "is too large": (path) => writeFileSync(path, JSON.stringify({ prompt: "x".repeat(LIMITS.summaryBytes) })),
    "was not written after the first prompt": () => {},
  };
  for (const [what, lose] of Object.entries(losses)) {
    it(`is made again when it ${what}, once`, async () => {
      const root = place();
      const { form, work } = countingForm();
      const writer = await openStore(root, form).create(ID, UNASKED);
      writer.append([{ type: "prompt", text: "what was asked" }, { type: "answer" }]);
      await writer.close();
      lose(join(root, "eventlog", ID, "summary.json"));
      const store = openStore(root, form);
      const row = [ID, { cwd: "/work", turns: 1, prompt: "what was asked" }];
      expect(await listed(store)).toEqual([row]);
      expect(await listed(store)).toEqual([row]);
      expect(await store.readSummary(ID)).toEqual(row[1]);
      expect(work.derived).toBe(1);
    });
  }

  it("is made again from a log of 0.1, as far as that has the facts", async () => {
    const root = place();
    const { form } = countingForm();
    const old = createFileStore<Note, Brief>({ root });
    const writer = await old.create(ID, UNASKED);
    writer.append([{ type: "prompt", text: "what was asked" }]);
    await old.close();
    expect(await listed(openStore(root, form))).toEqual([[ID, { cwd: "/work", turns: 1, prompt: "what was asked" }]]);
    rmSync(join(root, "eventlog", ID, "summary.json"));
    expect(await listed(openStore(root, form))).toEqual([[ID, { cwd: "", turns: 1, prompt: "what was asked" }]]);
  });

  it("of an older version is made again for the reader of one session, and listed unchanged", async () => {
    const root = place();
    const { form, work } = countingForm();
    const writer = await openStore(root, form).create(ID, { ...UNASKED, turns: 1, prompt: "stale" });
    writer.append([{ type: "prompt", text: "what was asked" }]);
    await writer.close();
    const old = { ...UNASKED, turns: 1, prompt: "stale", old: true };
    writeFileSync(join(root, "eventlog", ID, "summary.json"), JSON.stringify(old));
    const store = openStore(root, form);
    expect((await listed(store))[0]?.[1].prompt).toBe("stale");
    expect(work.derived).toBe(0);
    expect(await store.readSummary(ID)).toMatchObject({ prompt: "what was asked" });
    await store.readSummary(ID);
    expect(work.derived).toBe(1);
  });

  it("is made again when the log has grown", async () => {
    const root = place();
    const { form } = countingForm();
    const store = openStore(root, form);
    const writer = await store.create(ID, UNASKED);
    writer.append([{ type: "setting" }]);
    await writer.written();
    expect(await listed(store)).toEqual([[ID, UNASKED]]);
    writer.append([{ type: "prompt", text: "late" }]);
    await writer.written();
    expect(await listed(store)).toEqual([[ID, { ...UNASKED, turns: 1, prompt: "late" }]]);
  });
});

describe("the birth of a session", () => {
  const headerOf = (root: string, id: string, at: number): { birth?: object; counts: object } => {
    const names = readdirSync(join(root, "eventlog", id)).filter((name) => name.endsWith(".ndjson"));
    return JSON.parse(readFileSync(join(root, "eventlog", id, names.sort()[at]!), "utf8").split("\n")[0]!);
  };

  it("is in the header of every segment, and takes no number", async () => {
    const root = place();
    const { form } = countingForm();
    const store = openStore(root, form);
    const writer = await store.create(ID, UNASKED);
    writer.append([{ type: "prompt" }]);
    expect(writer.lastSeq).toBe(1);
    await writer.close();
    const again = await store.open(ID);
    again.append([{ type: "answer" }]);
    await again.close();
    for (const at of [0, 1]) expect(headerOf(root, ID, at)).toMatchObject({ birth: { cwd: "/work" }, counts: {} });
  });

  it("comes from the summary when 0.1 made the session, and is left out when it is too long", async () => {
    const root = place();
    const { form } = countingForm();
    const old = createFileStore<Note, Brief>({ root });
    for (const [id, cwd] of [
      [ID, "/work"],
      [OTHER, "/".repeat(LIMITS.birthBytes)],
    ] as const) {
      const writer = await old.create(id, { ...UNASKED, cwd });
      writer.append([{ type: "prompt" }]);
    }
    await old.close();
    const store = openStore(root, form);
    for (const id of [ID, OTHER]) {
      const writer = await store.open(id);
      writer.append([{ type: "answer" }]);
      await writer.close();
    }
    expect(headerOf(root, ID, 0).birth).toBeUndefined();
    expect(headerOf(root, ID, 1).birth).toEqual({ cwd: "/work" });
    expect(headerOf(root, OTHER, 1).birth).toBeUndefined();
    const seqs: number[] = [];
    for await (const entry of createFileStore<Note, Brief>({ root }).read(ID)) seqs.push(entry.seq);
    expect(seqs).toEqual([1, 2]);
  });
});

describe("a list", () => {
  const fill = (root: string, count: number): void => {
    for (let i = 0; i < count; i++) {
      const id = `otter-20260425T120300-${i.toString(16).padStart(8, "0")}`;
      mkdirSync(join(root, "eventlog", id), { recursive: true });
      const summary = { ...UNASKED, turns: 1, model: i % 500 === 0 ? "rare" : "usual" };
      writeFileSync(join(root, "eventlog", id, "summary.json"), JSON.stringify(summary));
    }
  };

  it("looks at each session once, however few pass its filter", async () => {
    for (const count of [1000, 4000]) {
      const root = place();
      fill(root, count);
      const { form, work } = countingForm();
      const store = openStore(root, form);
      const { sessions, next } = await store.list({ model: "rare", order: "touched" });
      expect([sessions.length, next]).toEqual([count / 500, null]);
      expect(work).toEqual({ read: count, derived: 0, records: 0 });
      await store.list({ model: "rare", order: "touched", limit: 1 });
      expect(work.read).toBe(count);
    }
  });

  it("filters before it cuts a page, so that pages are full", async () => {
    const root = place();
    fill(root, 1500);
    const store = openStore(root, countingForm().form);
    const first = await store.list({ model: "rare", limit: 2 });
    expect(first.sessions).toHaveLength(2);
    const rest = await store.list({ model: "rare", limit: 2, after: first.next! });
    expect([rest.sessions.length, rest.next]).toEqual([1, null]);
    expect((await store.list({ cwd: "/elsewhere" })).sessions).toEqual([]);
    expect((await store.list({ prompted: false })).sessions).toEqual([]);
    expect((await store.list({ closed: true })).sessions).toEqual([]);
  });

  /** Sessions that were last written a minute apart, newest first. */
  function aged(root: string, count: number): string[] {
    fill(root, count);
    const ids = readdirSync(join(root, "eventlog")).toSorted();
    for (const [i, id] of ids.entries()) {
      const time = Date.now() / 1000 - 60 * (i + 1);
      utimesSync(join(root, "eventlog", id, "summary.json"), time, time);
    }
    return ids;
  }

  it("by last write asks the disk for the first page about all sessions, and for the next ones about few", async () => {
    const root = place();
    aged(root, 1500);
    const store = openStore(root, countingForm().form);
    const options = { order: "touched", limit: 10 } as const;
    await store.list(options);
    const { next } = await store.list(options);
    const costOf = async (after: object): Promise<number> => {
      const before = process.cpuUsage();
      for (let i = 0; i < 20; i++) await store.list({ ...options, ...after });
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const [first, second] = [await costOf({}), await costOf({ after: next })];
    expect(second).toBeLessThan(first / 2);
  });

  it("by last write shows each session once, while others are written, made and removed", async () => {
    const root = place();
    const ids = aged(root, 12);
    const store = openStore(root, countingForm().form);
    const pathOf = (id: string) => join(root, "eventlog", id);
    const shown: string[] = [];
    let after: string | null = null;
    const page = async () => {
      const { sessions, next } = await store.list({ order: "touched", limit: 3, ...(after && { after }) });
      shown.push(...sessions.map(({ id }) => id));
      after = next;
    };
    await page();
    // One that was shown, and one that was not, are the newest from now on; one is gone, and one is new.
    for (const id of [ids[1]!, ids[7]!]) writeFileSync(join(pathOf(id), "summary.json"), JSON.stringify(UNASKED));
    rmSync(pathOf(ids[5]!), { recursive: true });
    mkdirSync(pathOf(ID));
    writeFileSync(join(pathOf(ID), "summary.json"), JSON.stringify({ ...UNASKED, turns: 1 }));
    while (after) await page();
    expect(shown).toEqual(ids.filter((_, i) => i !== 5 && i !== 7));
    shown.length = 0;
    await page();
    expect(shown).toEqual(expect.arrayContaining([ID, ids[1], ids[7]]));
  });

  it("shows, orders and filters by the rows that its caller knows", async () => {
    const root = place();
    const store = openStore(root, countingForm().form);
    for (const id of [ID, OTHER]) await (await store.create(id, { ...UNASKED, turns: 1 })).close();
    const summary = { ...UNASKED, turns: 1, state: "waiting" };
    const known = new Map([[ID, { id: ID, summary, touched: Date.now() + 60_000 }]]);
    const page = await store.list({ order: "touched", limit: 1, known });
    expect(page.sessions.map(({ id }) => id)).toEqual([ID]);
    expect((await store.list({ state: "waiting", known })).sessions.map(({ id }) => id)).toEqual([ID]);
  });

  it("shows a session as running only while a process holds it", async () => {
    const root = place();
    const { form } = countingForm();
    const store = openStore(root, form);
    const writer = await store.create(ID, { ...UNASKED, turns: 1, state: "running" });
    const stateElsewhere = async () => (await listed(openStore(root, form)))[0]?.[1].state;
    expect(await stateElsewhere()).toBe("running");
    await writer.close();
    expect(await stateElsewhere()).toBe("idle");
  });

  it("keeps no text of a long prompt that an older version wrote", async () => {
    const root = place();
    const prompt = "x".repeat(4 * 1024 * 1024);
    mkdirSync(join(root, "eventlog", ID), { recursive: true });
    writeFileSync(join(root, "eventlog", ID, "summary.json"), JSON.stringify({ ...UNASKED, turns: 1, prompt }));
    const [row] = await listed(openStore(root, countingForm().form));
    expect(row?.[1].prompt).toHaveLength(200);
  });
});

describe("a new session", () => {
  const events = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ event: { type: "note", text: String(i) }, at: i * 1000 }));
  const textsOf = async (store: EventStore<Note, Brief>, id: string) => {
    return (await readLog(store, id)).records.map(({ event }) => event.text);
  };

  it("made by a copy is listed only when it is whole", async () => {
    const root = place();
    const { form } = countingForm();
    const store = openStore(root, form);
    const writer = await store.create(ID, UNASKED);
    for (let i = 0; i < 200; i++) writer.append([{ type: "note", text: "x".repeat(20_000) }]);
    await writer.written();
    const copying = store.copy(ID, OTHER, { upTo: 200, summary: UNASKED });
    const elsewhere = openStore(root, form);
    while (!(await elsewhere.has(OTHER))) expect(await listed(elsewhere)).toHaveLength(1);
    expect((await textsOf(elsewhere, OTHER)).length).toBe(200);
    const copy = await copying;
    copy.append([{ type: "own" }]);
    await copy.durable();
    expect((await textsOf(elsewhere, OTHER)).length).toBe(201);
  });

  it("made by an import keeps the times of its events, and appears whole", async () => {
    const store = openStore(place(), countingForm().form);
    const seen: number[] = [];
    await store.importLog(ID, { summary: UNASKED, events: events(600), onProgress: (done) => seen.push(done) });
    expect(seen).toEqual([256, 512]);
    const { records } = await readLog(store, ID, { from: 598 });
    expect(records.map(({ event }) => event.ts)).toEqual(["1970-01-01T00:09:58.000Z", "1970-01-01T00:09:59.000Z"]);
    await expect(store.importLog(ID, { summary: UNASKED, events: [] })).rejects.toMatchObject({ code: "exists" });
    const writer = await store.open(ID);
    expect(writer.lastSeq).toBe(600);
    await expect(store.importLog(ID, { summary: UNASKED, events: [], replace: true })).rejects.toMatchObject({
      code: "claimed",
    });
  });

  it("that fails to replace another leaves the other unchanged", async () => {
    const root = place();
    const store = openStore(root, countingForm().form);
    await store.importLog(ID, { summary: UNASKED, events: events(3) });
    const files = () => readdirSync(join(root, "eventlog", ID)).filter((name) => !name.startsWith("claim"));
    const before = files();
    const broken = [...events(300), { event: { type: "note", text: 1n as unknown as string }, at: 0 }];
    const failing = store.importLog(ID, { summary: UNASKED, events: broken, replace: true });
    await expect(failing).rejects.toMatchObject({ code: "invalid_event" });
    expect(files()).toEqual(before);
    expect(await textsOf(store, ID)).toEqual(["0", "1", "2"]);
    await (await store.open(ID)).close();
    await store.importLog(ID, { summary: UNASKED, events: events(1), replace: true });
    expect(await textsOf(store, ID)).toEqual(["0"]);
    expect(readdirSync(join(root, "eventlog")).filter((name) => name.startsWith("."))).toEqual([]);
  });

  it("that replaced another keeps it away, also when its process is killed before the other's files are removed", async () => {
    const root = place();
    const code = `
      import promises from "node:fs/promises";
      import { syncBuiltinESMExports } from "node:module";
      promises.rm = async () => process.kill(process.pid, "SIGKILL");
      syncBuiltinESMExports();
      const { createFileStore } = await import(${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)});
      const store = createFileStore({ root: ${JSON.stringify(root)} });
      const events = [{ event: { type: "note", text: "new" }, at: 0 }];
      await store.importLog(${JSON.stringify(ID)}, { summary: {}, events, replace: true });`;
    const store = openStore(root, countingForm().form, () => Date.now() + 120_000);
    await store.importLog(ID, { summary: UNASKED, events: events(3) });
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: "inherit" });
    expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
    expect(await textsOf(store, ID)).toEqual(["new"]);
    await store.delete(ID);
    expect(await store.sweep()).toBe(1);
    expect(readdirSync(join(root, "eventlog")).filter((name) => !name.includes("index"))).toEqual([]);
  });

  it("that a crash kept from replacing another gives that its name back", async () => {
    const root = place();
    const store = openStore(root, countingForm().form, () => Date.now() + 120_000);
    await store.importLog(ID, { summary: UNASKED, events: events(3) });
    const eventlog = join(root, "eventlog");
    renameSync(join(eventlog, ID), join(eventlog, `.replaced-${ID}-0123abcd`));
    expect(await store.has(ID)).toBe(false);
    expect(await store.sweep()).toBe(1);
    expect(await textsOf(store, ID)).toEqual(["0", "1", "2"]);
  });
});

describe("what a killed process left beside the sessions", () => {
  const later = () => Date.now() + 120_000;
  const note = (n: number) => ({ event: { type: "note", text: String(n) }, at: n });
  const hidden = (root: string) => readdirSync(join(root, "eventlog")).filter((name) => name.startsWith("."));
  const isDraft = (name: string) => name.startsWith(".new-");

  /** Begins an import in a process of its own, and kills that once its draft holds records. */
  const killImport = async (root: string): Promise<void> => {
    const code = `
      import { createFileStore } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
      const store = createFileStore({ root: ${JSON.stringify(root)} });
      const writer = await store.create(${JSON.stringify(OTHER)}, {});
      writer.append([1, 2].map((n) => ({ type: "note", text: String(n).repeat(70_000) })));
      await writer.close();
      async function* records() {
        yield* store.read(${JSON.stringify(OTHER)});
        process.stdout.write("begun");
        await new Promise(() => setInterval(() => {}, 1000));
      }
      await store.importLog(${JSON.stringify(ID)}, { summary: {}, records: records() });`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
  };

  it("is removed when it is old and its maker is dead, and whatever is young, alive or not a session's stays", async () => {
    const root = place();
    await killImport(root);
    const eventlog = join(root, "eventlog");
    const [draft] = hidden(root);
    expect(draft).toMatch(/^\.new-/);
    expect(await openStore(root, countingForm().form).sweep()).toBe(0);
    // One that no claim says whose it is, an empty one, a deletion that was cut short, and two that hold something else.
    const unsigned = `.new-${ID}-aaaaaaaa`;
    const others = [`.deleted-${ID}-aaaaaaaa`, `.new-${ID}-bbbbbbbb`];
    for (const name of [unsigned, `.new-${ID}-cccccccc`, `.deleted-${ID}-bbbbbbbb`, ...others])
      mkdirSync(join(eventlog, name));
    writeFileSync(join(eventlog, unsigned, "summary.json"), "{}");
    writeFileSync(join(eventlog, `.deleted-${ID}-bbbbbbbb`, "summary.json"), "{}");
    for (const name of others) writeFileSync(join(eventlog, name, "dear.txt"), "");
    const store = openStore(root, countingForm().form, later);
    const before = hidden(root).sort();
    expect(await store.sweep({ dryRun: true })).toBe(3);
    expect(hidden(root).sort()).toEqual(before);
    expect(await store.sweep()).toBe(3);
    expect(hidden(root).sort()).toEqual([unsigned, ...others].sort());
    await store.importLog(ID, { summary: UNASKED, events: [note(0)] });
    expect(readdirSync(join(eventlog, ID)).filter((name) => name.startsWith("claim"))).toEqual([]);
  });

  it("is not an import that is under way, however old that is", async () => {
    const root = place();
    const [one, other] = [openStore(root, countingForm().form, later), openStore(root, countingForm().form, later)];
    let goOn = () => {};
    const waiting = new Promise<void>((resolve) => (goOn = resolve));
    const records = async function* () {
      await waiting;
      yield* one.read(ID);
    };
    await one.importLog(ID, { summary: UNASKED, events: [note(0), note(1)] });
    const importing = one.importLog("otter-20260425T120302-cccc3333", { summary: UNASKED, records: records() });
    await vi.waitUntil(() => hidden(root).length === 1);
    expect([await one.sweep(), await other.sweep()]).toEqual([0, 0]);
    goOn();
    await importing;
    expect(await other.lastSeq("otter-20260425T120302-cccc3333")).toBe(2);
  });

  it("is removed by a process that holds sessions, without being asked", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const root = place();
    await killImport(root);
    const store = openStore(root, countingForm().form, later);
    await store.list();
    vi.advanceTimersByTime(LIMITS.sweepMs);
    expect(hidden(root).filter(isDraft)).toHaveLength(1);
    await (await store.create("otter-20260425T120302-cccc3333", UNASKED)).close();
    vi.advanceTimersByTime(LIMITS.sweepMs);
    await vi.waitUntil(() => hidden(root).length === 0);
  });
});
