import { chmodSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fixture, rewindable } from "./workspace.js";

test("a file that the user changed since is kept and listed; force replaces it", async () => {
  const f = fixture();
  f.write("a.txt", "0");
  f.write("b.txt", "0");
  await f.toolTurn(0, { "a.txt": "agent", "b.txt": "agent" });
  f.write("a.txt", "user");
  const report = await f.session.undo();
  expect(report.conflicts).toEqual([f.path("a.txt")]);
  expect(f.read("a.txt")).toBe("user");
  expect(f.read("b.txt")).toBe("0");

  await f.session.redo();
  expect(f.read("a.txt")).toBe("user");
  const forced = await f.session.undo({ force: true });
  expect(forced.conflicts).toEqual([]);
  expect(f.read("a.txt")).toBe("0");
});

test("a created file that the user edited is not deleted, and a deleted one that they made again is not replaced", async () => {
  const f = fixture();
  f.write("old.txt", "old");
  await f.toolTurn(0, { "new.txt": "agent", "old.txt": null });
  f.write("new.txt", "agent and user");
  f.write("old.txt", "user's");
  const report = await f.session.undo();
  expect(report.conflicts).toEqual([f.path("new.txt"), f.path("old.txt")]);
  expect(f.read("new.txt")).toBe("agent and user");
  expect(f.read("old.txt")).toBe("user's");
});

test("an edit made between two turns is not undone with them", async () => {
  const f = fixture();
  f.write("a.txt", "0");
  await f.toolTurn(0, { "a.txt": "1" });
  f.write("a.txt", "1 and mine");
  await f.toolTurn(1, { "a.txt": "2" });
  const report = await f.session.undo({ steps: 2 });
  expect(report.conflicts).toEqual([f.path("a.txt")]);
  expect(f.read("a.txt")).toBe("1 and mine");
});

test("a file that already has its former content is unchanged, and not a conflict", async () => {
  const f = fixture();
  f.write("a.txt", "0");
  await f.toolTurn(0, { "a.txt": "1" });
  f.write("a.txt", "0");
  expect((await f.session.undo()).files).toEqual([{ path: f.path("a.txt"), outcome: "unchanged" }]);
});

test("a mode the user set stays when the turn only changed content", async () => {
  const f = fixture();
  f.write("run.sh", "0", 0o644);
  await f.shellTurn(0, "echo 1 > run.sh");
  await f.shellTurn(1, "chmod 755 run.sh");
  expect((await f.session.undo()).files).toEqual([{ path: f.path("run.sh"), outcome: "restored" }]);
  expect(f.tree()["run.sh"]).toBe("file 644 1\n");
  chmodSync(f.path("run.sh"), 0o600);
  expect((await f.session.undo()).conflicts).toEqual([]);
  expect(f.tree()["run.sh"]).toBe("file 600 0");
});

test("a dry run reports the same and touches nothing", async () => {
  const f = fixture();
  f.write("a.txt", "0");
  await f.toolTurn(0, { "a.txt": "1", "b.txt": "1" });
  const tree = f.tree();
  const dry = await f.session.undo({ dryRun: true });
  expect(f.tree()).toEqual(tree);
  expect(existsSync(join(f.root, "otter-1/restore.json"))).toBe(false);
  expect(await f.session.undo()).toEqual(dry);
});

test("a directory the user put files in survives the undo of the turn that made it", async () => {
  const f = fixture();
  f.write("thing", "file");
  await f.shellTurn(0, "rm thing; mkdir thing; echo agent > thing/a");
  f.write("thing/mine", "user");
  const report = await f.session.undo();
  expect(report.files).toEqual([
    { path: f.path("thing"), outcome: "conflict", reason: "directory_in_use" },
    { path: f.path("thing/a"), outcome: "deleted" },
  ]);
  expect(f.read("thing/mine")).toBe("user");
});

test("a parent the user turned into a file blocks only what is below it", async () => {
  const f = fixture();
  f.write("d/a.txt", "a");
  f.write("b.txt", "b");
  await f.shellTurn(0, "rm -r d; echo x > b.txt");
  f.write("d", "user's file");
  const report = await f.session.undo();
  expect(report.files).toEqual([
    { path: f.path("b.txt"), outcome: "restored" },
    { path: f.path("d/a.txt"), outcome: "conflict", reason: "parent_not_a_directory" },
  ]);
  expect(f.read("d")).toBe("user's file");
});

test("a new turn discards what could be redone, and the blobs only that needed", async () => {
  const f = fixture();
  await f.toolTurn(0, { "a.txt": "one" });
  await f.toolTurn(1, { "a.txt": "two" });
  const blobs = join(f.root, "otter-1/blobs");
  expect(readdirSync(blobs)).toHaveLength(2);
  await f.session.undo({ steps: 2 });
  await f.toolTurn(2, { "b.txt": "three" });
  expect(readdirSync(blobs)).toHaveLength(1);
  expect(readdirSync(join(f.root, "otter-1/snaps"))).toHaveLength(1);
  expect((await f.session.restore([0, 1], "redo", { after: 0 })).files).toEqual([]);
  expect((await f.reopened().list()).map(({ turn }) => turn)).toEqual([2]);
});

test("undo is refused while a turn runs, and calls outside a turn are", async () => {
  const f = fixture();
  await expect(f.session.willWrite(f.path("a"))).rejects.toMatchObject({ code: "no_turn" });
  f.session.beginTurn(0);
  await expect(f.session.restore([0], "undo", { after: 0 })).rejects.toMatchObject({ code: "turn_running" });
  expect(await f.session.endTurn()).toBeNull();
});

test("two sessions in one workspace keep their own edits, also during a command", async () => {
  const f = fixture();
  f.write("a.txt", "a");
  f.write("b.txt", "b");
  const other = rewindable(f.store.session("otter-2", { cwd: f.ws, directories: [] }));
  f.session.beginTurn(0);
  const done = await f.session.willRun();
  writeFileSync(f.path("a.txt"), "command");
  other.beginTurn(0);
  await other.willWrite(f.path("b.txt"));
  writeFileSync(f.path("b.txt"), "other session");
  await other.endTurn();
  await done();
  await f.session.endTurn();
  await f.session.undo();
  expect([f.read("a.txt"), f.read("b.txt")]).toEqual(["a", "other session"]);
  await other.undo();
  expect(f.read("b.txt")).toBe("b");
});

test("clear forgets one session only and leaves files alone", async () => {
  const f = fixture();
  await f.toolTurn(0, { "a.txt": "1" });
  const other = rewindable(f.store.session("otter-2", { cwd: f.ws, directories: [] }));
  other.beginTurn(0);
  await other.willWrite(f.path("b.txt"));
  f.write("b.txt", "2");
  await other.endTurn();
  await f.store.clear("otter-1");
  expect(existsSync(join(f.root, "otter-1"))).toBe(false);
  expect(f.read("a.txt")).toBe("1");
  expect(await other.undo()).toMatchObject({ files: [{ outcome: "deleted" }] });
});
