import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { fixture } from "../workspace.js";
import { tally } from "./tally.js";

const mount = (path: string) => `mount -t tmpfs -o size=2m tmpfs ${path}`;

test("a disk mounted inside the workspace: changes on it are undone too", async () => {
  const cases = tally("mounts", 2);
  const f = fixture();
  onTestFinished(() => {
    execFileSync("sh", ["-c", "umount disk; umount late"], { cwd: f.ws });
  });
  mkdirSync(f.path("disk"));
  execFileSync("sh", ["-c", mount("disk")], { cwd: f.ws });
  f.write("disk/a", "0");
  f.write("b", "0");
  const before = f.tree();
  await f.shellTurn(0, "echo 1 > disk/a; echo 1 > disk/new; ln -s a disk/link; echo 1 > b");
  expect((await f.session.undo()).conflicts).toEqual([]);
  expect(f.tree()).toEqual(before);
  cases.done();

  f.write("late/hidden", "0");
  await f.shellTurn(1, `${mount("late")}; echo 1 > late/new; echo 1 > b`);
  expect((await f.session.undo()).conflicts).toEqual([]);
  expect(f.read("b")).toBe("0");
  cases.done();
  cases.close();
});
