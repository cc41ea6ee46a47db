import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createSnapshotStore, isSnapshotError } from "../../src/index.js";
import { fiftyFiles } from "../fifty-files.js";
import { fixture } from "../workspace.js";
import { tally } from "./tally.js";

const flip = fileURLToPath(new URL("../children/flip.mjs", import.meta.url));
const FLIPS = 10_000;

test(`${FLIPS} flips of a parent into a symlink during restores: nothing is written outside`, async () => {
  const f = fixture();
  for (let i = 0; i < 20; i += 1) {
    f.write(`swap/canary${i}`, "0");
    f.write(`swap/deep/er/canary${i}`, "0");
  }
  f.write("swap/canary", "0");
  const outside = f.tree(f.out);
  const names = Object.keys(f.tree()).filter((name) => name.includes("canary"));
  await f.toolTurn(0, Object.fromEntries(names.map((name) => [name, "1"])));
  await f.toolTurn(1, Object.fromEntries(names.map((name) => [name, null])));
  const cases = tally("flips", FLIPS);
  let files = 0;
  let conflicts = 0;
  const flipper = spawn(process.execPath, [flip, f.path("swap"), f.out, String(FLIPS)]);
  const ended = once(flipper, "exit");
  while (flipper.exitCode === null) {
    for (const go of [f.session.undo, f.session.redo]) {
      const report = await go({ force: true, steps: 2 });
      files += report.files.length;
      conflicts += report.conflicts.length;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  const [code] = await ended;
  if (code === 0) for (let i = 0; i < FLIPS; i += 1) cases.done();
  expect(f.tree(f.out)).toEqual(outside);
  console.log(`flips: ${files} files restored or kept meanwhile, ${conflicts} of them met a flip; 0 writes outside`);
  expect(conflicts).toBeGreaterThan(0);
  expect(files).toBeGreaterThan(conflicts);
  cases.close();
});

const flipBit = (path: string, i: number) => {
  const bytes = readFileSync(path);
  bytes[(i * 104_729) % bytes.length]! ^= 1 << (i % 8);
  writeFileSync(path, bytes);
};

test("1,500 bit flips in blobs, manifests and history: never a wrong byte in the workspace, never a crash", async () => {
  const f = fixture();
  const turn = await fiftyFiles(f);
  const good = new Set([...Object.values(turn.to), ...Object.values(turn.from)]);
  const cases = tally("bit flips", 1500);
  const home = join(f.root, "otter-1");
  for (let i = 0; i < 1500; i += 1) {
    turn.reset();
    const blobs = readdirSync(join(home, "blobs")).map((name) => join(home, "blobs", name));
    const snaps = readdirSync(join(home, "snaps")).map((name) => join(home, "snaps", name, "manifest.json"));
    const targets = [blobs, snaps, [join(home, "history.ndjson")]][i % 3]!;
    flipBit(targets[(i * 7919) % targets.length]!, i);
    try {
      await f.reopened().undo();
    } catch (error) {
      expect(isSnapshotError(error)).toBe(true);
    }
    if (i % 3 === 0) for (const entry of Object.values(f.tree())) expect(good.has(entry)).toBe(true);
    expect(f.tree(f.out)).toEqual({ canary: "file 644 canary" });
    cases.done();
  }
  cases.close();
});

test("500 bit flips in the journal of a killed undo: it is not followed, and the same undo again does the rest", async () => {
  const f = fixture();
  const turn = await fiftyFiles(f);
  const dying = fileURLToPath(new URL("../children/dying-fs.mjs", import.meta.url));
  const restore = fileURLToPath(new URL("../children/restore.mjs", import.meta.url));
  spawnSync(process.execPath, ["--import", dying, restore, f.root, f.ws, "undo"], {
    env: { PATH: process.env["PATH"], DIE_IN: "renameSync", DIE_AT: "20" },
  });
  const killed = join(f.base, "killed");
  const copy = (from: string, to: string) => {
    for (const each of ["ws", "store"]) {
      rmSync(join(to, each), { recursive: true, force: true });
      cpSync(join(from, each), join(to, each), { recursive: true, verbatimSymlinks: true });
    }
  };
  copy(f.base, killed);
  const cases = tally("bit flips in the journal", 500);
  for (let i = 0; i < 500; i += 1) {
    copy(killed, f.base);
    flipBit(join(f.root, "otter-1/restore.json"), i);
    expect(createSnapshotStore({ root: f.root }).unfinished()).toEqual([]);
    Object.assign(f.log, { undo: [0], redo: [] });
    expect((await f.reopened().undo()).conflicts).toEqual([]);
    const left = Object.entries(f.tree()).filter(([name]) => !name.startsWith(".chimera-restore-"));
    expect(Object.fromEntries(left)).toEqual(turn.to);
    cases.done();
  }
  cases.close();
});
