// The cost of a turn's snapshot: ten changed files among many, against git's add + write-tree; and what versions cost on disk.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSnapshotStore } from "../packages/snapshot-store/dist/index.js";
import { interleave, median, row } from "./report.mjs";

const CHANGED = 10;
const base = mkdtempSync(join(tmpdir(), "snapshot-bench-"));
try {
  for (const [count, bytes] of [
    [1_000, 10_240],
    [20_000, 1_024],
  ]) {
    await snapshotAmong(count, bytes);
  }
  await versionsOfOneFile();
} finally {
  rmSync(base, { recursive: true, force: true });
}

/** Of a tool's edits only the paths it announces are looked at; for a command's the whole tree is, before and after. */
async function snapshotAmong(count, bytes) {
  const ours = workspace(`ours-${count}`, count, bytes);
  const theirs = workspace(`git-${count}`, count, bytes);
  git(theirs.dir, "init", "-q");
  git(theirs.dir, "add", "-A");
  git(theirs.dir, "write-tree");
  const store = createSnapshotStore({ root: join(base, `store-${count}`) });
  const session = store.session("bench", { cwd: ours.dir, directories: [] });
  let turn = 0;
  await byCommand();
  const samples = await interleave({ byTool, byCommand, byGit }, { runs: 9, warmup: 2 });
  const name = `10 changed among ${count.toLocaleString("en-US")}`;
  const floor = median(samples.byGit);
  row({ name: `${name}, by a tool`, ours: median(samples.byTool), floor, unit: "ms", target: 0.33 });
  row({ name: `${name}, by a command`, ours: median(samples.byCommand), floor, unit: "ms" });

  async function byTool() {
    let spent = 0;
    session.beginTurn(turn++);
    for (const path of ours.some()) {
      spent += await timed(() => session.willWrite(path));
      writeFileSync(path, `turn ${turn} ${path}`.padEnd(bytes, "."));
    }
    return spent + (await timed(() => session.endTurn()));
  }

  async function byCommand() {
    session.beginTurn(turn++);
    let done;
    let spent = await timed(async () => {
      done = await session.willRun();
    });
    for (const path of ours.some()) writeFileSync(path, `turn ${turn} ${path}`.padEnd(bytes, "."));
    spent += await timed(done);
    return spent + (await timed(() => session.endTurn()));
  }

  function byGit() {
    turn++;
    for (const path of theirs.some()) writeFileSync(path, `turn ${turn} ${path}`.padEnd(bytes, "."));
    return timed(() => {
      git(theirs.dir, "add", "-A");
      git(theirs.dir, "write-tree");
    });
  }
}

/** Ten turns go back and forth between five versions of a 1 MiB file, one of them there before. */
async function versionsOfOneFile() {
  const dir = join(base, "versions");
  const file = join(dir, "big.txt");
  const version = (n) => `${n}`.repeat(1024 * 1024);
  mkdirSync(dir);
  writeFileSync(file, version(0));
  const root = join(base, "store-versions");
  const session = createSnapshotStore({ root }).session("bench", { cwd: dir, directories: [] });
  for (let turn = 0; turn < 10; turn++) {
    session.beginTurn(turn);
    await session.willWrite(file);
    writeFileSync(file, version((turn + 1) % 5));
    await session.endTurn();
  }
  const blobs = join(root, "bench", "blobs");
  const stored = readdirSync(blobs).reduce((sum, name) => sum + statSync(join(blobs, name)).size, 0);
  const mib = stored / 1024 / 1024;
  row({ name: "1 MiB file, 5 versions in 10 turns, on disk", ours: mib, floor: 5, unit: "MiB", target: 1 });
}

function workspace(name, count, bytes) {
  const dir = join(base, name);
  const paths = [];
  for (let i = 0; i < count; i++) {
    const folder = join(dir, `d${Math.floor(i / 100)}`);
    if (i % 100 === 0) mkdirSync(folder, { recursive: true });
    paths.push(join(folder, `f${i}.txt`));
    writeFileSync(paths[i], `file ${i} `.padEnd(bytes, "x"));
  }
  let start = 0;
  return {
    dir,
    /** Another ten each time, spread over the tree. */
    some() {
      start += 7;
      return Array.from({ length: CHANGED }, (_, i) => paths[(start + (i * count) / CHANGED) % count]);
    },
  };
}

async function timed(work) {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

function git(cwd, ...args) {
  return execFileSync("git", args, { cwd, encoding: "utf8" });
}
