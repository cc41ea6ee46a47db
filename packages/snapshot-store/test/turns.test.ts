import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createSnapshotStore } from "../src/index.js";
import { fixture } from "./workspace.js";

test("undo reverts files that a tool overwrote, created and deleted; redo replays the changes", async () => {
  const f = fixture();
  f.write("kept.txt", "old", 0o640);
  f.write("gone.txt", "bye");
  const before = f.tree();
  await f.toolTurn(0, { "kept.txt": "new", "gone.txt": null, "deep/er/made.txt": "made" });
  const after = f.tree();

  const undone = await f.session.undo();
  expect(f.tree()).toEqual(before);
  expect(undone).toMatchObject({ turns: [0], conflicts: [] });
  expect(undone.files).toEqual([
    { path: f.path("deep/er/made.txt"), outcome: "deleted" },
    { path: f.path("gone.txt"), outcome: "created" },
    { path: f.path("kept.txt"), outcome: "restored" },
  ]);
  await f.session.redo();
  expect(f.tree()).toEqual(after);
});

test("a shell command's edits are undone outside any git repository", async () => {
  const f = fixture();
  f.write("a.txt", "one\ntwo\n");
  f.write("src/b.txt", "b");
  f.write("src/deep/c.txt", "c");
  f.write("run.sh", "#!/bin/sh\n", 0o644);
  f.write("empty", "");
  symlinkSync("a.txt", f.path("link"));
  const before = f.tree();
  await f.shellTurn(
    0,
    `printf 'one\\n2\\n' > a.new; mv a.new a.txt; mv src/b.txt moved.txt; rm -r src/deep; chmod +x run.sh; ln -sfn run.sh link
     rm empty; mkdir gen; i=0; while [ $i -lt 200 ]; do echo $i > gen/$i; i=$((i+1)); done`,
  );
  const after = f.tree();
  expect(after).not.toEqual(before);
  const report = await f.session.undo();
  expect(report.conflicts).toEqual([]);
  expect(f.tree()).toEqual(before);
  await f.session.redo();
  expect(f.tree()).toEqual(after);
});

test("turns are restored by number, those without file changes too, also by another process", async () => {
  const f = fixture();
  await f.toolTurn(0, { "a.txt": "1" });
  await f.toolTurn(1, {});
  await f.toolTurn(2, { "a.txt": "2" });
  chmodSync(f.path("a.txt"), 0o600);
  expect(await f.reopened().undo({ steps: 2 })).toMatchObject({ turns: [2, 1], conflicts: [] });
  expect(f.read("a.txt")).toBe("1");
  expect(await f.reopened().redo({ steps: 9 })).toMatchObject({ turns: [1, 2], conflicts: [] });
  expect(f.read("a.txt")).toBe("2");
});

test("a session that changes no file leaves nothing on disk", async () => {
  const f = fixture();
  await f.toolTurn(0, {});
  expect(existsSync(join(f.root, "otter-1"))).toBe(false);
  await f.toolTurn(1, { "a.txt": "1" });
  await f.toolTurn(2, {});
  expect(await f.reopened().undo({ steps: 9 })).toMatchObject({ turns: [2, 1, 0] });
  expect(f.tree()).toEqual({});
});

test("a restore reads only the named turns, however many there are", async () => {
  const f = fixture();
  for (let turn = 0; turn < 10; turn += 1) await f.toolTurn(turn, { [`${turn}.txt`]: "1", shared: String(turn) });
  // What other turns touched is not even opened: a directory in a manifest's place would fail the call.
  const snaps = join(f.root, "otter-1/snaps");
  for (const name of readdirSync(snaps)) {
    if (name.startsWith("snap-10-")) continue;
    rmSync(join(snaps, name, "manifest.json"));
    mkdirSync(join(snaps, name, "manifest.json"));
  }
  const { files } = await f.reopened().undo();
  expect(files.map(({ path }) => path)).toEqual([f.path("9.txt"), f.path("shared")]);
  expect([f.read("shared"), existsSync(f.path("9.txt"))]).toEqual(["8", false]);
});

test("a restore stands when the log has its record, and is taken back whole when not", async () => {
  const f = fixture();
  f.write("a.txt", "0");
  await f.toolTurn(0, { "a.txt": "1", "new.txt": "1" });
  const after = f.tree();
  const journal = join(f.root, "otter-1/restore.json");
  const taken = await f.session.restore([0], "undo", { after: 7 });
  expect(f.tree()).toEqual({ "a.txt": "file 644 0" });
  expect(existsSync(journal)).toBe(true);
  await taken.takeBack();
  expect(f.tree()).toEqual(after);
  expect(existsSync(journal)).toBe(false);
  await (await f.session.restore([0], "undo", { after: 7 })).keep();
  expect([f.tree(), existsSync(journal)]).toEqual([{ "a.txt": "file 644 0" }, false]);
});

test("the next process settles an unsettled restore by the log", async () => {
  const f = fixture();
  f.write("a.txt", "0");
  await f.toolTurn(0, { "a.txt": "1" });
  const asked: unknown[] = [];
  const settle = (recorded: boolean) =>
    f
      .reopened(async (...question) => {
        asked.push(question);
        return recorded;
      })
      .settle();
  expect(await settle(true)).toBeNull();
  await f.session.restore([0], "undo", { after: 7 });
  f.store.release("otter-1");
  expect(f.store.unfinished()).toMatchObject([{ sessionId: "otter-1", workspace: { cwd: f.ws, directories: [] } }]);
  expect(await settle(false)).toEqual({ sessionId: "otter-1", result: "taken_back" });
  expect([f.read("a.txt"), f.store.unfinished()]).toEqual(["1", []]);
  await f.reopened().restore([0], "undo", { after: 8 });
  expect(await settle(true)).toEqual({ sessionId: "otter-1", result: "kept" });
  expect([f.read("a.txt"), f.store.unfinished()]).toEqual(["0", []]);
  await f.reopened().restore([0], "redo", { after: 9 });
  expect(await settle(false)).toMatchObject({ result: "taken_back" });
  expect(f.read("a.txt")).toBe("0");
  expect(asked).toEqual([
    ["undo", 7],
    ["undo", 8],
    ["redo", 9],
  ]);
});

test("taking a restore back keeps files that the user changed meanwhile", async () => {
  const f = fixture();
  f.write("a.txt", "0");
  f.write("b.txt", "0");
  await f.toolTurn(0, { "a.txt": "1", "b.txt": "1" });
  const taken = await f.session.restore([0], "undo", { after: 0 });
  f.write("a.txt", "mine");
  await taken.takeBack();
  expect([f.read("a.txt"), f.read("b.txt")]).toEqual(["mine", "1"]);
});

test("a reading sees each ended turn, and does not settle another process's restore", async () => {
  const f = fixture();
  f.write("a.txt", "0\n");
  const reading = createSnapshotStore({ root: f.root }).reading("otter-1", { cwd: f.ws, directories: [] });
  expect(await reading.list()).toEqual([]);
  await f.toolTurn(0, { "a.txt": "1\n" });
  f.session.beginTurn(1);
  await f.session.willWrite(f.path("a.txt"));
  f.write("a.txt", "2\n");
  const [first] = await reading.list();
  expect(await reading.edits(first!.snapId)).toMatchObject([{ change: "update", diff: expect.stringContaining("+1") }]);
  await f.session.endTurn();
  expect((await reading.list()).map(({ turn }) => turn)).toEqual([0, 1]);
  await f.session.restore([1], "undo", { after: 7 });
  expect([(await reading.list()).length, f.read("a.txt")]).toEqual([2, "1\n"]);
  expect(createSnapshotStore({ root: f.root }).unfinished()).toHaveLength(1);
});

test("a turn whose snapshot is gone keeps no other turn's change of the same file from going and coming back", async () => {
  const f = fixture();
  await f.toolTurn(0, { "a.txt": "one", "b.txt": "one" });
  f.log.undo = [];
  await f.toolTurn(1, { "a.txt": "two" });
  const edited = (turn: number) => (turn === 0 ? [f.path("a.txt"), f.path("b.txt")] : [f.path("a.txt")]);
  const left = { path: f.path("b.txt"), outcome: "skipped", reason: "not_kept" };
  const restored = { path: f.path("a.txt"), outcome: "restored" };
  const undone = await f.session.restore([1, 0], "undo", { after: 0, edited });
  await undone.keep();
  expect([undone.files, f.read("a.txt")]).toEqual([[restored, left], "one"]);
  const redone = await f.session.restore([0, 1], "redo", { after: 0, edited });
  await redone.keep();
  expect([redone.files, f.read("a.txt")]).toEqual([[restored, left], "two"]);
});
