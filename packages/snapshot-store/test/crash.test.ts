import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { draftName } from "../src/files.js";
import { fiftyFiles } from "./fifty-files.js";
import { type Fixture, fixture, memory, rewindable } from "./workspace.js";

const child = (name: string) => fileURLToPath(new URL(`children/${name}`, import.meta.url));

function run(f: Fixture, what: string, env: Record<string, string> = {}) {
  const args = ["--import", child("dying-fs.mjs"), child("restore.mjs"), f.root, f.ws, what];
  return spawnSync(process.execPath, args, { env: { ...env, PATH: process.env["PATH"] }, encoding: "utf8" });
}

async function killEverywhere(f: Fixture, calls: string, stride: number) {
  const turn = await fiftyFiles(f);
  const clean = run(f, "undo", { DIE_IN: calls });
  expect(f.tree()).toEqual(turn.to);
  const total = Number(/calls (\d+)/.exec(clean.stdout)?.[1]);
  const ends = { old: 0, new: 0 };
  // The last call is the one that removes the journal, after the record.
  for (const at of Array.from({ length: total }, (_, i) => i + 1).filter((i) => i % stride === 1 || i === total)) {
    turn.reset();
    expect(run(f, "undo", { DIE_IN: calls, DIE_AT: String(at) }).signal).toBe("SIGKILL");
    const recorded = existsSync(join(f.root, "recorded"));
    const report = await f.reopened(async () => recorded).settle();
    expect(f.tree()).toEqual(recorded ? turn.to : turn.from);
    if (report !== null) expect(report.result).toBe(recorded ? "kept" : "taken_back");
    ends[recorded ? "old" : "new"] += 1;
  }
  return { total, ends };
}

describe("kill -9 in the middle of a restore of fifty files", () => {
  test("at renames and unlinks: after the next start the files are as the log says", { timeout: 60_000 }, async () => {
    const calls = "renameSync,unlinkSync,rmdirSync,mkdirSync,rmSync,writeFileSync";
    const { total, ends } = await killEverywhere(fixture({}, memory), calls, 6);
    expect(total).toBeGreaterThan(60);
    expect(ends.old).toBeGreaterThan(0);
    expect(ends.new).toBeGreaterThan(0);
  });
});

describe("an interrupted restore that cannot be taken back", () => {
  test("stays for the next attempt, and says why", async () => {
    const f = fixture({}, memory);
    const turn = await fiftyFiles(f);
    expect(run(f, "undo", { DIE_IN: "renameSync", DIE_AT: "20" }).signal).toBe("SIGKILL");
    const [blobs, away] = [join(f.root, "otter-1/blobs"), join(f.base, "away")];
    renameSync(blobs, away);
    const session = f.reopened();
    const settled = { result: "failed", message: expect.stringMatching(/stored version of .* missing/) };
    expect(await session.settle()).toMatchObject(settled);
    await expect(session.list()).rejects.toThrow(/stored version of .* missing/);
    rmSync(blobs, { recursive: true });
    renameSync(away, blobs);
    expect(await session.list()).toHaveLength(1);
    expect(f.tree()).toEqual(turn.from);
  });

  test("is named though it cannot even be looked at", async () => {
    const f = fixture({}, memory);
    writeFileSync(join(f.root, "desktop.ini"), "");
    mkdirSync(join(f.root, "otter-2/restore.json"), { recursive: true });
    expect(f.store.unfinished()).toMatchObject([{ sessionId: "otter-2" }]);
    const report = await f.store.session("otter-2", { cwd: f.ws, directories: [] }).settle();
    expect(report).toMatchObject({ result: "failed", message: expect.stringContaining("EISDIR") });
  });
});

test("a kill while a restore is taken back: the next attempt takes it back to the end", async () => {
  const f = fixture({}, memory);
  const turn = await fiftyFiles(f);
  for (const [at, again] of [
    ["20", "10"],
    ["40", "25"],
  ] as const) {
    turn.reset();
    expect(run(f, "undo", { DIE_IN: "renameSync", DIE_AT: at }).signal).toBe("SIGKILL");
    expect(run(f, "undo", { DIE_IN: "renameSync", DIE_AT: again }).signal).toBe("SIGKILL");
    expect(await f.reopened(async () => true).settle()).toMatchObject({ result: "taken_back" });
    expect(f.tree()).toEqual(turn.from);
  }
});

test("a crash in the middle of a turn leaves a turn that can be undone, its command's edits too", async () => {
  const f = fixture({}, memory);
  f.write("tool.txt", "0");
  f.write("shell.txt", "0");
  f.write("gone.txt", "0");
  const before = f.tree();
  const dead = spawnSync(process.execPath, [child("turn.mjs"), f.root, f.ws]);
  expect(dead.signal).toBe("SIGKILL");
  expect(f.read("shell.txt")).toBe("command\n");
  f.log.undo = [7];
  expect(await f.session.undo()).toMatchObject({ conflicts: [] });
  expect(f.tree()).toEqual(before);
});

test("a crash forgets nothing of a command, though another session's ended meanwhile", async () => {
  const f = fixture({}, memory);
  for (const name of ["a.txt", "b.txt", "gone.txt"]) f.write(name, "0");
  const before = f.tree();
  const dead = spawnSync(process.execPath, [child("two-commands.mjs"), f.root, f.ws]);
  expect(dead.signal).toBe("SIGKILL");
  f.log.undo = [0];
  expect((await f.session.undo()).conflicts).toEqual([]);
  expect([f.read("a.txt"), f.read("gone.txt")]).toEqual(["0", "0"]);
  const other = f.store.session("otter-2", { cwd: f.ws, directories: [] });
  await rewindable(other, { undo: [0], redo: [] }).undo();
  expect(f.tree()).toEqual(before);
});

test("a symlink flipped during restores never leads a write outside", { timeout: 60_000 }, async () => {
  const f = fixture({}, memory);
  for (let i = 0; i < 20; i += 1) f.write(`swap/canary${i}`, "0");
  f.write("swap/canary", "0");
  const outside = f.tree(f.out);
  const edits = Object.fromEntries(
    Object.keys(f.tree())
      .filter((name) => name.includes("/"))
      .map((name) => [name, "1"]),
  );
  await f.toolTurn(0, edits);
  const flipper = spawn(process.execPath, [child("flip.mjs"), f.path("swap"), f.out, "2000"]);
  let restores = 0;
  while (flipper.exitCode === null) {
    await f.session.undo({ force: true });
    await f.session.redo({ force: true });
    restores += 2;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(flipper.exitCode).toBe(0);
  expect(restores).toBeGreaterThan(1);
  expect(f.tree(f.out)).toEqual(outside);
});

test("a call that fails during a restore: the restore is taken back, and undo works once the call succeeds", {
  timeout: 60_000,
}, async () => {
  const f = fixture({}, memory);
  const turn = await fiftyFiles(f);
  const calls = "renameSync,unlinkSync,rmdirSync,mkdirSync,fchmodSync,symlinkSync";
  for (const at of [1, 15, 30, 45, 60, 80]) {
    turn.reset();
    const failed = run(f, "undo", { DIE_IN: calls, FAIL_AT: String(at) });
    expect(failed.status).toBe(1);
    expect(failed.stderr).toMatch(/EIO: injected/);
    expect(f.tree()).toEqual(turn.from);
    expect(await f.reopened().undo()).toMatchObject({ conflicts: [] });
    expect(f.tree()).toEqual(turn.to);
  }
});

test("a kill in the middle of a write: opening the session again removes its draft and nothing else", async () => {
  const f = fixture({}, memory);
  mkdirSync(join(f.ws, "src"));
  const kept = { "src/tool.txt": "old", "src/.chimera-notes.tmp": "mine", [`src/${draftName()}`]: "of a live process" };
  for (const [name, text] of Object.entries(kept)) writeFileSync(join(f.ws, name), text);
  const { signal } = spawnSync(process.execPath, [child("write.mjs"), f.root, f.ws]);
  expect(signal).toBe("SIGKILL");
  const names = () => readdirSync(join(f.ws, "src")).map((name) => `src/${name}`);
  expect(names()).toHaveLength(4);
  expect(await f.reopened().settle()).toBe(null);
  expect(names().sort()).toEqual(Object.keys(kept).sort());
});
