import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createSnapshotStore, isSnapshotError, SnapshotError } from "../src/index.js";
import { type Fixture, fixture } from "./workspace.js";

type Json = Record<string, Record<string, unknown>>;

function tamper(f: Fixture, change: (manifest: Json) => unknown): void {
  const snaps = join(f.root, "otter-1/snaps");
  const path = join(snaps, readdirSync(snaps)[0]!, "manifest.json");
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify(change(manifest) ?? manifest));
}

const rename = (manifest: Json, to: string) => {
  for (const map of ["files", "before", "meta"]) {
    const [from] = Object.keys(manifest[map]!);
    manifest[map]![to] = manifest[map]![from!];
    delete manifest[map]![from!];
  }
};

const tampered: Record<string, (manifest: Json, f: Fixture) => unknown> = {
  "a relative path that climbs": (m) => rename(m, "../../x"),
  "an absolute path outside": (m, f) => rename(m, join(f.out, "canary")),
  "a path that climbs out": (m, f) => rename(m, `${f.ws}/../out/canary`),
  "the workspace itself": (m, f) => rename(m, f.ws),
  "a path into our own data": (m, f) => rename(m, join(f.root, "otter-1/history.ndjson")),
  "a NUL": (m, f) => rename(m, `${f.ws}/a\0b`),
  "a hash that is a path": (m) => {
    for (const path of Object.keys(m["before"]!)) m["before"]![path] = "../../../../etc/passwd";
  },
  "a mode beyond permissions": (m) => {
    for (const path of Object.keys(m["meta"]!)) m["meta"]![path] = { mode: 0o100644 };
  },
  "a directory outside": (m, f) => {
    m["dirs"] = { [f.out]: { before: null, after: 0o755 } };
  },
  "a missing map": (m) => {
    delete m["before"];
  },
  "not an object": () => [],
};

for (const [name, change] of Object.entries(tampered)) {
  test(`a manifest is refused: ${name}`, async () => {
    const f = fixture();
    f.write("a.txt", "0");
    await f.toolTurn(0, { "a.txt": "1" });
    tamper(f, (manifest) => change(manifest, f));
    const error = await f
      .reopened()
      .undo({ force: true })
      .catch((e: unknown) => e);
    expect(isSnapshotError(error) && error.code).toBe("bad_manifest");
    expect(f.read("a.txt")).toBe("1");
    expect(f.tree(f.out)).toEqual({ canary: "file 644 canary" });
  });
}

test("a damaged or missing blob is not restored, the other files are", async () => {
  const f = fixture();
  for (const name of ["a", "b", "c"]) f.write(name, `old ${name}`);
  await f.toolTurn(0, { a: "new a", b: "new b", c: "new c" });
  const blobs = join(f.root, "otter-1/blobs");
  for (const name of readdirSync(blobs)) {
    const path = join(blobs, name);
    const text = readFileSync(path, "utf8");
    if (text === "old a") writeFileSync(path, "flip a");
    if (text === "old b") rmSync(path);
  }
  const report = await f.reopened().undo();
  expect(report.files.map((file) => file.reason ?? file.outcome)).toEqual(["blob_missing", "blob_missing", "restored"]);
  expect([f.read("a"), f.read("b"), f.read("c")]).toEqual(["new a", "new b", "old c"]);
});

test("a history of a newer format is refused by name", async () => {
  const f = fixture();
  await f.toolTurn(0, { a: "1" });
  writeFileSync(join(f.root, "otter-1/history.ndjson"), '{"v":3}');
  await expect(f.reopened().undo()).rejects.toMatchObject({ code: "unsupported_format" });
});

test("half a row, as a full disk or a crash leaves it, loses only its own content", async () => {
  const f = fixture();
  const history = join(f.root, "otter-1/history.ndjson");
  await f.toolTurn(0, { a: "1" });
  await f.toolTurn(1, { a: "2" });
  for (const half of ['\n{"turn":2', "\n", '\n{"ended":{"turn":7}}', "\n[]\nnull"]) {
    appendFileSync(history, half);
    expect((await f.reopened().list()).map(({ turn }) => turn)).toEqual([0, 1]);
  }
  await f.toolTurn(2, { a: "3" });
  expect(await f.reopened().undo({ steps: 3 })).toMatchObject({ turns: [2, 1, 0], conflicts: [] });
  expect(existsSync(f.path("a"))).toBe(false);
});

test("invalid rows are ignored, whatever they hold", async () => {
  const f = fixture();
  const history = join(f.root, "otter-1/history.ndjson");
  await f.toolTurn(0, { a: "1" });
  f.session.beginTurn(1);
  await f.session.willWrite(f.path("a"));
  f.write("a", "2");
  const sha = "0".repeat(64);
  const odd = [0, -1, 1.5, 1e300, "", "x", null, true, [], [[]], {}, { kind: "file" }];
  const rows = [
    ...odd.flatMap((value) => [
      { path: value, state: { kind: "absent" } },
      { path: f.path("b"), state: value },
      { path: f.path("b"), state: { kind: "file", sha: value, mode: 420 } },
      { path: f.path("b"), state: { kind: "file", sha, mode: value === 0 ? -1 : value } },
      { path: f.path("b"), state: { kind: "link", sha, mode: 511, target: typeof value === "string" ? 1 : value } },
      { dir: value, mode: 493 },
      { dir: f.path("d"), mode: value === 0 || value === null ? "0" : value },
      { skipped: value, reason: typeof value === "string" ? 1 : value },
      { run: value, at: 1 },
      { run: f.ws, at: typeof value === "number" || value === null ? "1" : value },
      { ended: value },
    ]),
    { path: join(f.out, "canary"), state: { kind: "absent" } },
    { path: `${f.ws}/../out/canary`, state: { kind: "absent" } },
    { path: `${f.ws}/a\0b`, state: { kind: "absent" } },
    { path: f.ws, state: { kind: "absent" } },
    { dir: f.out, mode: null },
    { dir: `${f.ws}/../out`, mode: null },
    { run: "/", at: 1 },
    { path: f.path("b"), state: { kind: "absent" }, ended: { turn: 9, snap: null } },
  ];
  appendFileSync(history, rows.map((row) => `\n${JSON.stringify(row)}`).join(""));
  const session = f.reopened();
  expect((await session.list()).map(({ turn, files }) => [turn, files.map(({ path }) => path)])).toEqual([
    [0, [f.path("a")]],
    [1, [f.path("a")]],
  ]);
  f.log.undo = [0, 1];
  expect(await session.undo({ steps: 9 })).toMatchObject({ turns: [1, 0], conflicts: [] });
  expect(f.tree()).toEqual({});
  expect(readFileSync(join(f.out, "canary"), "utf8")).toBe("canary");
});

test("the changes of a command that were found are kept when finding the rest fails", async () => {
  const f = fixture();
  f.write("b", "old");
  await f.toolTurn(0, { z: "1" });
  f.session.beginTurn(1);
  const ended = await f.session.willRun();
  f.write("a", "new");
  f.write("b", "changed");
  const blobs = join(f.root, "otter-1/blobs");
  renameSync(blobs, `${blobs}.away`);
  writeFileSync(blobs, "");
  await expect(ended()).rejects.toBeInstanceOf(SnapshotError);
  rmSync(blobs);
  renameSync(`${blobs}.away`, blobs);
  await (await f.session.willRun())();
  // As after a crash: another process has only what was written.
  f.log.undo = [0, 1];
  await f.reopened().undo();
  expect(existsSync(f.path("a"))).toBe(false);
});

test.each(["", "\0\0\0", "{", "null", '{"v":2,"counter":"x","kept":[]}'])(
  "a history that begins with %j, as a power cut or a bad disk leaves it, is made again from the manifests",
  async (head) => {
    for (const keepsRows of [false, true]) {
      const f = fixture();
      const history = join(f.root, "otter-1/history.ndjson");
      f.write("a", "0");
      await f.toolTurn(0, { a: "1" });
      await f.toolTurn(1, { a: "2" });
      const [, ...rows] = readFileSync(history, "utf8").split("\n");
      writeFileSync(history, [head, ...(keepsRows ? rows : [])].join("\n"));
      const session = f.reopened();
      expect((await session.list()).map(({ turn }) => turn)).toEqual([0, 1]);
      session.beginTurn(2);
      await session.willWrite(f.path("a"));
      f.write("a", "3");
      await session.endTurn();
      expect(readFileSync(history, "utf8")).toMatch(/^{"v":2,"counter":/);
      expect(await f.reopened().undo({ steps: 9 })).toMatchObject({ turns: [2, 1, 0], conflicts: [] });
      expect(f.read("a")).toBe("0");
    }
  },
);

test("a long history is rewritten, and keeps its content", async () => {
  const f = fixture();
  const far = join(f.out, `${"nowhere".repeat(30)}/`.repeat(18));
  const sizes: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    f.session.beginTurn(turn);
    await f.session.willWrite(f.path("a"));
    f.write("a", String(turn));
    for (let i = 0; i < 100; i += 1) await f.session.willWrite(`${far}${i}`);
    await f.session.endTurn();
    sizes.push(statSync(join(f.root, "otter-1/history.ndjson")).size);
  }
  expect(sizes[1]).toBeGreaterThan(sizes[0]!);
  expect(sizes[2]).toBeLessThan(1000);
  expect(await f.reopened().undo({ steps: 9 })).toMatchObject({ turns: [2, 1, 0], conflicts: [] });
  expect(f.tree()).toEqual({});
});

test("a parent replaced by a symlink leads nowhere", async () => {
  const f = fixture();
  f.write("d/canary", "0");
  f.write("d/sub/x", "0");
  await f.toolTurn(0, { "d/canary": "1", "d/sub/x": null });
  renameSync(f.path("d"), join(f.base, "d-away"));
  symlinkSync(f.out, f.path("d"));
  for (const force of [false, true]) {
    const report = await f.session.undo({ force });
    expect(report.files.every((file) => file.outcome === "conflict")).toBe(true);
    expect(f.tree(f.out)).toEqual({ canary: "file 644 canary" });
    await f.session.redo();
  }
});

test("a destination replaced by a symlink is a conflict; forced, the link goes and not its target", async () => {
  const f = fixture();
  f.write("a", "0");
  await f.toolTurn(0, { a: "1" });
  rmSync(f.path("a"));
  symlinkSync(join(f.out, "canary"), f.path("a"));
  expect((await f.session.undo({ dryRun: true })).conflicts).toEqual([f.path("a")]);
  await f.session.undo({ force: true });
  expect(f.tree()).toEqual({ a: "file 644 0" });
  expect(f.tree(f.out)).toEqual({ canary: "file 644 canary" });
});

test("session ids are names, not paths", () => {
  const f = fixture();
  for (const id of ["..", ".", "", "../x", "a/b", ".baselines", "__proto__", "a\0", "x".repeat(300), "a\nb"]) {
    expect(() => f.store.session(id, { cwd: f.ws, directories: [] })).toThrow(SnapshotError);
  }
});

test("the oldest turns give way when a session outgrows its quota", async () => {
  const f = fixture({ limits: { sessionBytes: 5000 } });
  for (let turn = 0; turn < 6; turn += 1) await f.toolTurn(turn, { a: String(turn).repeat(1500) });
  const { length: undo } = await f.session.list();
  expect(undo).toBeGreaterThanOrEqual(1);
  expect(undo).toBeLessThan(4);
  const report = await f.session.undo({ steps: 99 });
  expect(report.conflicts).toEqual([]);
  expect(f.read("a")).toBe(String(5 - undo).repeat(1500));
});

test("gc removes idle sessions and those beyond the limit, never an open or kept one", async () => {
  const f = fixture({ limits: { idleMs: 24 * 3600_000, totalBytes: 10_000 } });
  const old = (Date.now() - 48 * 3600_000) / 1000;
  const recent = (Date.now() - 3 * 3600_000) / 1000;
  // Only a blob's name makes a file the store's: what somebody else keeps there is neither counted nor removed.
  const make = (id: string, bytes: number, when: number, blob = "0a".repeat(32)) => {
    mkdirSync(join(f.root, id, "blobs"), { recursive: true });
    for (const path of [join(f.root, id, "blobs", blob), join(f.root, id, "blobs"), join(f.root, id)]) {
      if (path.endsWith(blob)) writeFileSync(path, "x".repeat(bytes));
      utimesSync(path, when, when);
    }
  };
  make("idle", 10, old);
  make("kept", 10, old);
  make("big", 9_000, recent);
  make("small", 10, recent + 60);
  make("theirs", 20_000, old, "summer.jpg");
  await f.toolTurn(0, { a: "x".repeat(2000) });
  const report = await createSnapshotStore({ root: f.root, limits: { idleMs: 24 * 3600_000, totalBytes: 10_000 } }).gc({
    keep: ["kept"],
  });
  expect(report.sessionsRemoved).toEqual(["idle", "big"]);
  expect(readdirSync(f.root).sort()).toEqual(expect.arrayContaining(["kept", "otter-1", "small", "theirs"]));
  expect(report.bytesFreed).toBe(9_010);
});

test("a released session keeps its history, and no longer counts as open for gc", async () => {
  const f = fixture();
  await f.toolTurn(0, { a: "x" });
  const later = Date.now() + 2 * 3600_000;
  const store = createSnapshotStore({ root: f.root, limits: { idleMs: 3600_000 }, clock: () => later });
  const open = () => store.session("otter-1", { cwd: f.ws, directories: [] });
  expect(await open().list()).toHaveLength(1);
  expect((await store.gc()).sessionsRemoved).toEqual([]);
  store.release("otter-1");
  store.release("otter-1");
  expect(await open().list()).toHaveLength(1);
  store.release("otter-1");
  expect((await store.gc()).sessionsRemoved).toEqual(["otter-1"]);
});

test("gc continues while another process makes and removes sessions", async () => {
  const f = fixture();
  const churn = `
    const { mkdirSync, rmSync } = await import("node:fs");
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < 200; n++) mkdirSync(process.argv[1] + "/snaps/snap-" + n + "-1", { recursive: true });
      rmSync(process.argv[1], { recursive: true });
    }`;
  const args = ["--input-type=module", "-e", churn, join(f.root, "churned")];
  const ended = promisify(execFile)(process.execPath, args);
  let isOver = false;
  void ended.finally(() => {
    isOver = true;
  });
  const store = createSnapshotStore({ root: f.root });
  while (!isOver) {
    expect((await store.gc()).sessionsRemoved).toEqual([]);
    await setImmediate();
  }
  await ended;
});

test("gc knows every file of a session and of a workspace as the store's own", async () => {
  const f = fixture();
  f.write("a", "x");
  await f.toolTurn(0, { a: "y" });
  await f.shellTurn(1, "echo z > a; echo new > b");
  const later = Date.now() + 90 * 24 * 3600_000;
  const report = await createSnapshotStore({ root: f.root, clock: () => later }).gc();
  expect(report).toMatchObject({ sessionsRemoved: ["otter-1"], baselinesRemoved: 1, bytesKept: 0 });
  expect(readdirSync(join(f.root, ".baselines"))).toEqual([]);
});

test("diffs of one turn", async () => {
  const f = fixture();
  f.write("a.txt", "one\ntwo\n");
  f.write("bin", Buffer.from([0, 1]));
  await f.toolTurn(0, { "a.txt": "one\n2\n", bin: "text", "new.txt": "no newline" });
  const [first] = await f.session.list();
  const edits = await f.session.edits(first!.snapId);
  expect(edits.map(({ path, change }) => [path, change])).toEqual([
    [f.path("a.txt"), "update"],
    [f.path("bin"), "update"],
    [f.path("new.txt"), "add"],
  ]);
  expect(edits[0]!.diff).toBe("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
  expect(edits[1]!.diff).toBe("Binary files a/bin and b/bin differ\n");
  expect(edits[2]!.diff).toContain("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+no newline\n\\ No newline");
  await expect(f.session.edits("../x")).rejects.toMatchObject({ code: "not_found" });
});

test("a history of version 1 still gives each turn its snapshot, and is rewritten with the next turn", async () => {
  const f = fixture();
  for (const turn of [0, 1, 2]) await f.toolTurn(turn, { a: String(turn) });
  const path = join(f.root, "otter-1/history.ndjson");
  const { kept } = JSON.parse('{"kept":[]}');
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const { ended } = JSON.parse(line);
    if (ended) kept.push(ended);
  }
  const head = { v: 1, counter: 3, undo: [kept[0], { turn: 9, snap: null }], redo: [kept[2], kept[1]] };
  writeFileSync(path, JSON.stringify(head));
  expect((await f.reopened().list()).map(({ turn }) => turn)).toEqual([0, 1, 2]);
  const session = f.reopened();
  session.beginTurn(3);
  await session.willWrite(f.path("a"));
  f.write("a", "3");
  await session.endTurn();
  expect(JSON.parse(readFileSync(path, "utf8").split("\n")[0]!)).toMatchObject({ v: 2, counter: 3 });
  expect(await f.reopened().undo({ steps: 4 })).toMatchObject({ turns: [3, 2, 1, 0], conflicts: [] });
  expect(f.tree()).toEqual({});
});

test("a restore that version 1 left is taken back: its log has no record of it", async () => {
  const f = fixture();
  f.write("a", "0");
  await f.toolTurn(0, { a: "1" });
  await f.session.restore([0], "undo", { after: 3 });
  const path = join(f.root, "otter-1/restore.json");
  const { direction: _, after: __, ...rest } = JSON.parse(readFileSync(path, "utf8").split("\n")[0]!);
  const text = JSON.stringify({ ...rest, v: 1, stacks: {} });
  writeFileSync(path, `${text}\n${createHash("sha256").update(text).digest("hex")}\n`);
  expect(await f.reopened(async () => true).settle()).toMatchObject({
    result: "taken_back",
  });
  expect([f.read("a"), existsSync(path)]).toEqual(["1", false]);
});
