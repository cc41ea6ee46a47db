import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createSnapshotStore } from "../src/index.js";
import { fixture, memory, rewindable } from "./workspace.js";

test("files that git ignores are neither stored nor changed", async () => {
  const f = fixture();
  f.write(".gitignore", "*.log\n/build/\n!keep.log\n");
  f.write("sub/.gitignore", "local\n");
  const names = [
    "a.log",
    "keep.log",
    "build/x",
    "sub/build/x",
    "sub/local",
    "local",
    "node_modules/m/i.js",
    ".git/HEAD",
  ];
  for (const name of names) f.write(name, "0");
  await f.shellTurn(0, `for f in ${names.join(" ")}; do printf 1 > $f; done`);
  const report = await f.session.undo();
  expect(report.files.map((file) => file.path)).toEqual(
    ["keep.log", "local", "sub/build/x"].map((name) => f.path(name)),
  );
  expect([f.read("keep.log"), f.read("a.log"), f.read("build/x"), f.read("sub/local")]).toEqual(["0", "1", "1", "1"]);
});

test("a root inside a repository obeys the ignore files above it", async () => {
  const f = fixture();
  mkdirSync(f.path(".git/info"), { recursive: true });
  f.write(".git/info/exclude", "secret\n");
  f.write(".gitignore", "*.tmp\n");
  f.write("pkg/a.tmp", "0");
  f.write("pkg/secret", "0");
  f.write("pkg/b", "0");
  const session = rewindable(f.store.session("sub", { cwd: f.path("pkg"), directories: [] }));
  session.beginTurn(0);
  const done = await session.willRun();
  for (const name of ["pkg/a.tmp", "pkg/secret", "pkg/b"]) f.write(name, "1");
  await done();
  expect((await session.endTurn())?.files).toEqual([{ path: f.path("pkg/b"), change: "update" }]);
});

test("a change of ignore rules neither deletes files that it reveals nor restores files that it hides", async () => {
  const f = fixture();
  f.write(".gitignore", "hidden\n");
  f.write("hidden", "was always here");
  f.write("seen", "tracked");
  await f.shellTurn(0, "printf 'seen\\n' > .gitignore");
  const report = await f.session.undo();
  expect(report.files).toEqual([
    { path: f.path(".gitignore"), outcome: "restored" },
    { path: f.path("hidden"), outcome: "skipped", reason: "ignored_before" },
  ]);
  expect([f.read("hidden"), f.read("seen")]).toEqual(["was always here", "tracked"]);
});

test("undo does not delete a file that was moved in from an ignored place", async () => {
  const f = fixture();
  f.write(".gitignore", "build/\n");
  f.write("build/precious", "only copy");
  execFileSync("sleep", ["0.1"]);
  await f.shellTurn(0, "mv build out; echo x > out/fresh");
  const report = await f.session.undo();
  expect(report.files).toEqual([
    { path: f.path("out/fresh"), outcome: "deleted" },
    { path: f.path("out/precious"), outcome: "skipped", reason: "moved_from_untracked" },
  ]);
  expect(f.read("out/precious")).toBe("only copy");
});

test("the store never keeps its own data, wherever it lies", async () => {
  const f = fixture();
  const inside = createSnapshotStore({ root: f.path(".chimera/snapshots") });
  const session = rewindable(inside.session("s", { cwd: f.ws, directories: [] }));
  for (let turn = 0; turn < 3; turn += 1) {
    session.beginTurn(turn);
    const done = await session.willRun();
    f.write("a.txt", String(turn));
    await done();
    const snapshot = await session.endTurn();
    expect(snapshot?.files.map((file) => file.path)).toEqual([f.path("a.txt")]);
  }
});

test("files beyond the byte quota are skipped, and undo says so", async () => {
  const f = fixture({ limits: { baselineBytes: 1000 } });
  f.write("a", "x".repeat(900));
  f.write("b", "x".repeat(901));
  await f.shellTurn(0, "echo 1 > a; echo 1 > b; echo 1 > c");
  const { files } = await f.session.undo();
  const outcomes = Object.fromEntries(files.map((file) => [file.path, file.reason ?? file.outcome]));
  expect(Object.values(outcomes).sort()).toEqual(["deleted", "quota", "restored"]);
});

test("beyond the file quota nothing is taken for new", async () => {
  const f = fixture({ limits: { baselineFiles: 3 } });
  for (const name of ["a", "b", "c", "d", "e"]) f.write(name, "0");
  await f.shellTurn(0, "rm a b; for i in *; do echo 1 > $i; done");
  const report = await f.session.undo();
  expect(report.files.some((file) => file.path === f.ws && file.reason === "quota")).toBe(true);
  expect(report.files.some((file) => file.outcome === "deleted")).toBe(false);
  for (const name of ["c", "d", "e"]) expect(existsSync(f.path(name))).toBe(true);
});

test("content is stored once for all sessions, and only changed files are read again", async () => {
  const f = fixture();
  for (let i = 0; i < 50; i += 1) f.write(`f${i}`, `content ${i}`);
  await f.shellTurn(0, "echo 1 > f0");
  const baselines = join(f.root, ".baselines");
  const count = () => readdirSync(baselines).flatMap((name) => readdirSync(join(baselines, name, "blobs"))).length;
  expect(count()).toBe(51);
  const other = rewindable(createSnapshotStore({ root: f.root }).session("other", { cwd: f.ws, directories: [] }));
  other.beginTurn(0);
  const done = await other.willRun();
  f.write("f1", "by the other");
  await done();
  await other.endTurn();
  expect(count()).toBe(52);
  expect(readdirSync(join(f.root, "other/blobs"))).toHaveLength(2);
  await other.undo();
  expect([f.read("f0"), f.read("f1")]).toEqual(["1\n", "content 1"]);
});

test("several directories, one inside another, are one workspace", async () => {
  const f = fixture();
  const second = join(f.base, "second");
  mkdirSync(second);
  writeFileSync(join(second, "b"), "0");
  f.write("in/a", "0");
  const session = rewindable(f.store.session("two", { cwd: f.ws, directories: [second, f.path("in"), "in"] }));
  session.beginTurn(0);
  const done = await session.willRun();
  writeFileSync(join(second, "b"), "1");
  f.write("in/a", "1");
  await done();
  await session.endTurn();
  expect((await session.undo()).files).toHaveLength(2);
  expect([f.tree(second), f.read("in/a")]).toEqual([{ b: "file 644 0" }, "0"]);
});

test("a workspace reached through a link, and a command that never reported its end", async () => {
  const f = fixture();
  f.write("a", "0");
  symlinkSync(f.ws, join(f.base, "alias"));
  const session = rewindable(f.store.session("alias", { cwd: join(f.base, "alias"), directories: [] }));
  session.beginTurn(0);
  await session.willRun();
  f.write("a", "1");
  renameSync(f.path("a"), f.path("b"));
  expect((await session.endTurn())?.files).toEqual([
    { path: f.path("a"), change: "delete" },
    { path: f.path("b"), change: "add" },
  ]);
  await session.undo();
  expect(f.tree()).toEqual({ a: "file 644 0" });
});

test("a command that is stopped while its workspace is read does not wait, and costs the next one nothing", async () => {
  const f = fixture();
  for (let i = 0; i < 800; i += 1) f.write(`d${i % 20}/f${i}`, `content ${i}`);
  const stop = new AbortController();
  const reason = new Error("stopped");
  f.session.beginTurn(0);
  setImmediate(() => stop.abort(reason));
  await expect(f.session.willRun({ signal: stop.signal })).rejects.toBe(reason);
  await expect(f.session.willRun({ signal: stop.signal })).rejects.toBe(reason);
  expect(await f.session.endTurn()).toBeNull();
  const before = f.tree();
  await f.shellTurn(1, "echo 1 > d0/f0; rm d19/f799; mkdir new; echo 1 > new/f");
  expect((await f.session.undo()).files).toHaveLength(3);
  expect(f.tree()).toEqual(before);
});

test("more changes than the kernel has room to tell of are found all the same", async () => {
  const stopped = Date.now();
  const f = fixture({ clock: () => stopped });
  const names = Array.from({ length: 100 }, (_, i) => `f${i}`);
  for (const name of names) f.write(name, "0");
  const before = f.tree();
  f.session.beginTurn(0);
  const done = await f.session.willRun();
  const open = names.map((name) => openSync(f.path(name), "a"));
  for (let round = 0; round < 200; round += 1) for (const fd of open) writeSync(fd, "1");
  for (const fd of open) closeSync(fd);
  await done();
  expect((await f.session.endTurn())?.files).toHaveLength(100);
  await f.session.undo();
  expect(f.tree()).toEqual(before);
});

test("a workspace that takes too long to read is indexed in parts; until then undo reports what it does not cover", async () => {
  const f = fixture({ limits: { baselineMs: 100 } }, memory);
  for (let i = 0; i < 200; i += 1) {
    f.write(`d${i % 10}/f${i}`, "");
    truncateSync(f.path(`d${i % 10}/f${i}`), 4 * 1024 * 1024);
  }
  mkdirSync(f.path("d9/empty"));
  const everything = "for f in d*/f*; do echo 1 > $f; done; echo 1 > fresh";
  const said: string[] = [];
  f.session.beginTurn(0);
  const done = await f.session.willRun({ onUncovered: (root, reason) => said.push(`${root}: ${reason}`) });
  // Before the command.
  expect(said).toEqual([`${f.ws}: time_limit`]);
  execFileSync("sh", ["-c", everything], { cwd: f.ws });
  await done();
  await f.session.endTurn();
  const { files } = await f.session.undo();
  expect(files).toContainEqual({ path: f.ws, outcome: "skipped", reason: "time_limit" });
  expect(existsSync(f.path("d9/empty"))).toBe(true);
  expect(existsSync(f.path("fresh"))).toBe(false);
  for (const name of Object.keys(f.tree())) expect(existsSync(f.path(name))).toBe(true);
  for (let turn = 1, skipped = true; skipped; turn += 1) {
    f.session.beginTurn(turn);
    await (await f.session.willRun())();
    skipped = (await f.session.endTurn()) !== null;
  }
  const before = f.tree();
  await f.shellTurn(999, everything.replaceAll("1", "2"));
  expect((await f.session.undo()).files.every(({ outcome }) => outcome !== "skipped")).toBe(true);
  expect(f.tree()).toEqual(before);
});

test.each([
  ["an hour ahead", 3600_000],
  ["an hour behind", -3600_000],
  ["ten years ahead", 10 * 365 * 86_400_000],
])("a clock that is %s of the files' costs no undo of what a command made", async (_, off) => {
  const f = fixture({ clock: () => Date.now() + off });
  f.write("old", "1");
  const before = f.tree();
  const past = "touch -d 2020-01-01 d/past; touch -d 2040-01-01 d/future";
  await f.shellTurn(0, `echo 1 > new; echo 2 > old; mkdir d; echo 1 > d/new; ${past}`);
  const { files } = await f.session.undo();
  expect(files.filter(({ outcome }) => outcome === "skipped" || outcome === "conflict")).toEqual([]);
  expect(f.tree()).toEqual(before);
});

test("the files of a command can be undone even when the clock is set while it runs", async () => {
  // Seen from a clock that nobody sets, those of the files lose an hour.
  let lost = 0;
  const f = fixture({ monotonic: () => performance.now() + lost });
  f.session.beginTurn(0);
  const done = await f.session.willRun();
  execFileSync("sh", ["-c", "sleep 0.2; echo 1 > new"], { cwd: f.ws });
  lost = 3600_000;
  await done();
  await f.session.endTurn();
  expect((await f.session.undo()).files).toEqual([{ path: f.path("new"), outcome: "deleted" }]);
});

test("the first look at a workspace says how far it is, later ones say nothing", async () => {
  const heard: (number | null)[] = [];
  const f = fixture({ onIndexing: (files) => void heard.push(files) });
  for (let n = 0; n < 2000; n++) f.write(`${n % 20}/${n}`, "x".repeat(1000));
  await f.shellTurn(0, "echo 1 > made");
  const counts = heard.slice(0, -1) as number[];
  expect(heard.at(-1)).toBeNull();
  expect(heard.filter((files) => files === null)).toHaveLength(1);
  expect(counts.length).toBeGreaterThan(0);
  expect(counts).toEqual(counts.toSorted((a, b) => a - b));
  expect(counts.at(-1)).toBeLessThanOrEqual(2000);
  const before = heard.length;
  await f.shellTurn(1, "echo 2 > made");
  expect(heard).toHaveLength(before);
});
