import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createSnapshotStore } from "../../src/index.js";
import { fixture, rewindable } from "../workspace.js";
import { tally } from "./tally.js";

function smallDisk(path: string): void {
  mkdirSync(path, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", path]);
  onTestFinished(() => {
    execFileSync("umount", [path]);
  });
}

test("a full disk under the workspace: nothing is restored; under the store: the turn hears of it; both recover", async () => {
  const cases = tally("full disk", 2);
  const f = fixture();
  const ws = join(f.base, "small");
  smallDisk(ws);
  const files = Array.from({ length: 8 }, (_, i) => join(realpathSync(ws), `f${i}`));
  for (const file of files) writeFileSync(file, "0".repeat(150_000));
  const session = rewindable(f.store.session("full", { cwd: ws, directories: [] }));
  session.beginTurn(0);
  for (const file of files) await session.willWrite(file);
  for (const file of files) writeFileSync(file, "1");
  await session.endTurn();
  writeFileSync(join(ws, "filler"), "x".repeat(1_500_000));
  const before = f.tree(ws);
  await expect(session.undo()).rejects.toMatchObject({ code: "storage_full" });
  expect(f.tree(ws)).toEqual(before);
  rmSync(join(ws, "filler"));
  expect(await session.undo()).toMatchObject({ conflicts: [] });
  cases.done();

  const root = join(f.base, "small-store");
  smallDisk(root);
  const store = rewindable(createSnapshotStore({ root }).session("full", { cwd: f.ws, directories: [] }));
  f.write("big", "x".repeat(3_000_000));
  f.write("a", "0");
  store.beginTurn(0);
  await expect(store.willWrite(f.path("big"))).rejects.toMatchObject({ code: "storage_full" });
  await store.willWrite(f.path("a"));
  f.write("a", "1");
  await store.endTurn();
  await store.undo();
  expect(f.read("a")).toBe("0");
  cases.done();
  cases.close();
});
