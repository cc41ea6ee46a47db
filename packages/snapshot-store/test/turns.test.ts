import { chmodSync, existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fixture } from "./workspace.js";

test("undo brings back what a tool overwrote, created and deleted; redo replays it", async () => {
  const f = fixture();
  f.write("kept.txt", "old", 0o640);
  f.write("gone.txt", "bye");
  const before = f.tree();
  await f.toolTurn(0, { "kept.txt": "new", "gone.txt": null, "deep/er/made.txt": "made" });
  const after = f.tree();

  const undone = await f.session.undo();
  expect(f.tree()).toEqual(before);
  expect(undone).toMatchObject({ turns: 1, turnNumbers: [0], conflicts: [], remaining: 0 });
  expect(undone.files).toEqual([
    { path: f.path("deep/er/made.txt"), outcome: "deleted" },
    { path: f.path("gone.txt"), outcome: "created" },
    { path: f.path("kept.txt"), outcome: "restored" },
  ]);
  const redone = await f.session.redo();
  expect(f.tree()).toEqual(after);
  expect(redone).toMatchObject({ turns: 1, remaining: 0 });
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

test("steps are turns, with and without file changes, and survive a restart", async () => {
  const f = fixture();
  await f.toolTurn(0, { "a.txt": "1" });
  await f.toolTurn(1, {});
  await f.toolTurn(2, { "a.txt": "2" });
  chmodSync(f.path("a.txt"), 0o600);
  expect(await f.reopened().undo({ steps: 2 })).toMatchObject({ turns: 2, turnNumbers: [2, 1], remaining: 1 });
  expect(f.read("a.txt")).toBe("1");
  expect(await f.reopened().redo({ steps: 9 })).toMatchObject({ turns: 2, turnNumbers: [1, 2], remaining: 0 });
  expect(f.read("a.txt")).toBe("2");
});

test("a session that changes no file leaves nothing on disk; its steps count all the same", async () => {
  const f = fixture();
  await f.toolTurn(0, {});
  expect(existsSync(join(f.root, "otter-1"))).toBe(false);
  expect(await f.session.depth()).toEqual({ undo: 1, redo: 0 });
  await f.toolTurn(1, { "a.txt": "1" });
  await f.toolTurn(2, {});
  expect(await f.reopened().undo({ steps: 9 })).toMatchObject({ turnNumbers: [2, 1, 0], remaining: 0 });
  expect(f.tree()).toEqual({});
});
