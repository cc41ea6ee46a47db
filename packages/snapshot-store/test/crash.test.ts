import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createSnapshotStore } from "../src/index.js";
import { fiftyFiles } from "./fifty-files.js";
import { type Fixture, fixture, memory } from "./workspace.js";

const child = (name: string) => fileURLToPath(new URL(`children/${name}`, import.meta.url));

function run(f: Fixture, what: string, env: Record<string, string> = {}) {
  const args = ["--import", child("dying-fs.mjs"), child("restore.mjs"), f.root, f.ws, what];
  return spawnSync(process.execPath, args, { env: { ...env, PATH: process.env["PATH"] }, encoding: "utf8" });
}

async function killEverywhere(f: Fixture, calls: string, stride: number) {
  const turn = await fiftyFiles(f);
  const clean = run(f, "undo", { DIE_IN: calls });
  expect(f.tree()).toEqual(turn.old);
  const total = Number(/calls (\d+)/.exec(clean.stdout)?.[1]);
  const ends = { old: 0, new: 0 };
  for (let at = 1; at <= total; at += stride) {
    turn.reset();
    expect(run(f, "undo", { DIE_IN: calls, DIE_AT: String(at) }).signal).toBe("SIGKILL");
    const reports = await createSnapshotStore({ root: f.root }).recover();
    const tree = f.tree();
    const undone = JSON.stringify(tree) === JSON.stringify(turn.old);
    expect(tree).toEqual(undone ? turn.old : turn.new);
    const depth = await f.reopened().depth();
    expect(depth).toEqual(undone ? { undo: 0, redo: 1 } : { undo: 1, redo: 0 });
    if (reports.length > 0) expect(reports[0]!.result).toBe(undone ? "finished" : "taken_back");
    ends[undone ? "old" : "new"] += 1;
  }
  return { total, ends };
}

describe("kill -9 in the middle of a restore of fifty files", () => {
  test("at renames and unlinks: all or nothing after the next start", { timeout: 60_000 }, async () => {
    const { total, ends } = await killEverywhere(fixture({}, memory), "renameSync,unlinkSync,rmdirSync,mkdirSync", 6);
    expect(total).toBeGreaterThan(60);
    expect(ends.old).toBeGreaterThan(0);
    expect(ends.new).toBeGreaterThan(0);
  });
});

test("an interrupted restore is settled only while its session is held", async () => {
  const f = fixture({}, memory);
  const turn = await fiftyFiles(f);
  expect(run(f, "undo", { DIE_IN: "renameSync", DIE_AT: "20" }).signal).toBe("SIGKILL");
  const left = f.tree();
  const asked: string[] = [];
  const store = createSnapshotStore({ root: f.root });
  expect(await store.recover(async (id) => void asked.push(id))).toEqual([]);
  expect(asked).toEqual(["otter-1"]);
  expect(f.tree()).toEqual(left);
  expect(await store.recover((_, work) => work())).toMatchObject([{ sessionId: "otter-1", result: "finished" }]);
  expect(f.tree()).toEqual(turn.old);
});

describe("an interrupted restore that cannot be finished", () => {
  async function interrupted(isLost: (sha: string) => boolean) {
    const f = fixture({}, memory);
    const turn = await fiftyFiles(f);
    expect(run(f, "undo", { DIE_IN: "renameSync", DIE_AT: "20" }).signal).toBe("SIGKILL");
    const blobs = join(f.root, "otter-1/blobs");
    for (const name of readdirSync(blobs, { recursive: true, encoding: "utf8" })) {
      if (statSync(join(blobs, name)).isFile() && isLost(basename(name))) rmSync(join(blobs, name));
    }
    return { f, turn, reports: await createSnapshotStore({ root: f.root }).recover() };
  }

  test("is taken back, and says why", async () => {
    const lost = createHash("sha256").update("old 17").digest("hex");
    const { f, turn, reports } = await interrupted((sha) => sha === lost);
    expect(reports).toMatchObject([
      { result: "taken_back", message: expect.stringMatching(/stored version of .* missing/) },
    ]);
    expect(f.tree()).toEqual(turn.new);
  });

  test("nor taken back stays for the next start, and says why", async () => {
    const { reports } = await interrupted(() => true);
    expect(reports).toMatchObject([
      { result: "failed", message: expect.stringMatching(/stored version of .* missing/) },
    ]);
  });

  test("keeps nobody from starting when it cannot even be looked at", async () => {
    const f = fixture({}, memory);
    writeFileSync(join(f.root, "desktop.ini"), "");
    mkdirSync(join(f.root, "otter-2/restore.json"), { recursive: true });
    const reports = await createSnapshotStore({ root: f.root }).recover();
    expect(reports).toMatchObject([
      { sessionId: "otter-2", result: "failed", message: expect.stringContaining("EISDIR") },
    ]);
  });
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
  const report = await f.session.undo();
  expect(report).toMatchObject({ turns: 1, turnNumbers: [7], conflicts: [] });
  expect(f.tree()).toEqual(before);
});

test("a crash forgets nothing of a command, though another session's ended meanwhile", async () => {
  const f = fixture({}, memory);
  for (const name of ["a.txt", "b.txt", "gone.txt"]) f.write(name, "0");
  const before = f.tree();
  const dead = spawnSync(process.execPath, [child("two-commands.mjs"), f.root, f.ws]);
  expect(dead.signal).toBe("SIGKILL");
  expect((await f.session.undo()).conflicts).toEqual([]);
  expect([f.read("a.txt"), f.read("gone.txt")]).toEqual(["0", "0"]);
  await f.store.session("otter-2", { cwd: f.ws, directories: [] }).undo();
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

test("a call that fails on the way: what was restored is taken back, and undo works when it can", {
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
    expect(f.tree()).toEqual(turn.new);
    expect(await f.reopened().undo()).toMatchObject({ turns: 1, conflicts: [] });
    expect(f.tree()).toEqual(turn.old);
  }
});
