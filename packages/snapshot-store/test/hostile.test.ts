import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { rulesBelow } from "../src/files.js";
import { type Fixture, fixture, memory, rewindable } from "./workspace.js";

/** Permissions mean nothing to root: the rest of the test is done as somebody else. */
function asOrdinaryUser(f: Fixture): void {
  if (process.geteuid!() !== 0) return;
  for (const path of [f.base, f.ws, f.root, f.out]) chownSync(path, 65534, 65534);
  process.seteuid!(65534);
  onTestFinished(() => process.seteuid!(0));
}

async function during(f: Fixture, turn: number, work: () => void) {
  f.session.beginTurn(turn);
  const done = await f.session.willRun();
  work();
  await done();
  return f.session.endTurn();
}

test("an ignore file made to cost time is applied only as far as it is cheap", async () => {
  const f = fixture({}, memory);
  const climbing = `${"**/a/".repeat(12)}b`;
  const many = Array.from({ length: 60_000 }, (_, i) => `never-${i}*x`);
  const stars = Array.from({ length: 50 }, (_, i) => `${"*a".repeat(8)}${i}b`);
  f.write(".gitignore", ["*.log", climbing, ...stars, ...many].join("\n"));
  f.write("a".repeat(250), "0");
  f.write(`${"a/".repeat(70)}c`, "0");
  for (let i = 0; i < 20; i += 1) f.write(`f${i}`, "0");
  f.write("a.log", "0");
  const report = await during(f, 0, () => {
    for (const name of ["a.log", "f3", `${"a/".repeat(70)}c`]) f.write(name, "1");
  });
  expect(report?.files).toHaveLength(2);
  await f.session.undo();
  expect([f.read("a.log"), f.read("f3"), f.read(`${"a/".repeat(70)}c`)]).toEqual(["1", "0", "0"]);
});

test("ignore files cost a deep path little, whatever they say", () => {
  const deep = `/w/${`${"a".repeat(90)}/`.repeat(40)}c`;
  for (const rule of ["**/*a*/**/*a*/b", "a*/**/a*/**/b", "**/a/**/a/b", "*a*a*a*/**/b"]) {
    const text = Array.from({ length: 2000 }, (_, i) => `${rule}${i}`).join("\n");
    const rules = rulesBelow({ ignores: () => false }, "/w", text);
    const { user } = process.cpuUsage();
    expect(rules.ignores(deep, false)).toBe(false);
    expect(process.cpuUsage().user - user).toBeLessThan(1_000_000);
  }
});

test("a workspace inside the store's own data is not changed", async () => {
  const f = fixture();
  await f.toolTurn(0, { a: "1" });
  for (const cwd of [f.root, join(f.root, "otter-1"), join(f.root, ".baselines")]) {
    mkdirSync(cwd, { recursive: true });
    const session = rewindable(f.store.session("inside", { cwd, directories: [] }));
    session.beginTurn(0);
    const done = await session.willRun();
    writeFileSync(join(cwd, "x"), "1");
    await session.willWrite(join(cwd, "y"));
    await done();
    expect(await session.endTurn()).toMatchObject({ files: [], skipped: { [join(cwd, "y")]: "own_data" } });
    await session.undo();
    expect(readFileSync(join(cwd, "x"), "utf8")).toBe("1");
    rmSync(join(cwd, "x"));
  }
  expect(existsSync(join(f.root, ".baselines")) && readdirSync(join(f.root, ".baselines"))).toEqual([]);
});

test("a workspace that is gone is named as the reason, and undone once it is back", async () => {
  const f = fixture();
  f.write("a", "0");
  f.write("d/b", "0");
  const before = f.tree();
  await during(f, 0, () => rmSync(f.ws, { recursive: true }));
  await expect(f.session.undo()).rejects.toMatchObject({ code: "workspace_moved" });
  writeFileSync(f.ws, "a file now");
  await expect(f.session.undo()).rejects.toMatchObject({ code: "workspace_moved" });
  rmSync(f.ws);
  mkdirSync(f.ws);
  expect((await f.session.undo()).conflicts).toEqual([]);
  expect(f.tree()).toEqual(before);
});

test("a change of the workspace's own mode does not count as an edit", async () => {
  const f = fixture();
  f.write("a", "0");
  await f.shellTurn(0, "chmod 700 .; echo 1 > a");
  expect((await f.reopened().undo()).files).toEqual([{ path: f.path("a"), outcome: "restored" }]);
  expect(statSync(f.ws).mode & 0o777).toBe(0o700);
});

test("files that were unreadable before a command never count as its work", async () => {
  const f = fixture();
  asOrdinaryUser(f);
  f.write("closed/precious", "0");
  f.write("open", "0");
  chmodSync(f.path("closed"), 0);
  const snapshot = await during(f, 0, () => {
    chmodSync(f.path("closed"), 0o755);
    f.write("closed/precious", "1");
    f.write("open", "1");
  });
  expect(snapshot?.skipped).toEqual({ [f.path("closed")]: "unreadable" });
  await f.session.undo();
  expect([f.read("closed/precious"), f.read("open")]).toEqual(["1", "0"]);
});

test("directories closed to writing are undone and come back with their mode", async () => {
  const f = fixture();
  asOrdinaryUser(f);
  f.write("was/a", "0");
  f.write("was/b", "0");
  const before = f.tree();
  await during(f, 0, () => {
    f.write("made/deep/x", "1");
    rmSync(f.path("was/a"));
    for (const name of ["made/deep", "made", "was"]) chmodSync(f.path(name), 0o555);
  });
  const after = f.tree();
  expect((await f.session.undo()).conflicts).toEqual([]);
  expect(f.tree()).toEqual(before);
  expect((await f.session.redo()).conflicts).toEqual([]);
  expect(f.tree()).toEqual(after);
  expect((await f.session.undo()).conflicts).toEqual([]);
});
