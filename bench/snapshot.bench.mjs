// The cost of a turn's snapshot: ten changed files among many, against git's add + write-tree; and what versions cost on disk.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSnapshotStore } from "../packages/snapshot-store/dist/index.js";
import { interleave, median, milliseconds, row } from "./report.mjs";

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

/**
 * What a turn waits for, from the first word that files will change to its end, against the same ten changes committed with git. Ours
 * keeps what was there before and what is there now, git only the latter; neither waits for the disk.
 */
async function snapshotAmong(count, bytes) {
  const tools = session("tools");
  const commands = session("commands");
  const theirs = workspace(`git-${count}`, count, bytes);
  git(theirs.dir, "init", "-q");
  git(theirs.dir, "add", "-A");
  git(theirs.dir, "write-tree");
  let turn = 0;
  await byCommand();
  const samples = await interleave({ byTool, byCommand, byGit }, { runs: 9, warmup: 2 });
  const name = `10 changed among ${count.toLocaleString("en-US")}`;
  const floor = median(samples.byGit);
  const figures = {
    "tools: before each write + turn end": samples.byTool,
    "a shell command: before it + after it + turn end": samples.byCommand,
  };
  for (const [what, times] of Object.entries(figures)) {
    row({ name: `${name}, by ${what} (git add + write-tree)`, ours: median(times), floor, unit: "ms", target: 0.33 });
  }

  function session(id) {
    const { dir, some } = workspace(`${id}-${count}`, count, bytes);
    const snapshots = createSnapshotStore({ root: join(base, `store-${id}-${count}`) });
    return { some, ...snapshots.session(id, { cwd: dir, directories: [] }) };
  }

  async function byTool() {
    let spent = 0;
    tools.beginTurn(turn++);
    for (const path of tools.some()) {
      spent += await milliseconds(() => tools.willWrite(path));
      writeFileSync(path, `turn ${turn} ${path}`.padEnd(bytes, "."));
    }
    return spent + (await milliseconds(() => tools.endTurn()));
  }

  async function byCommand() {
    commands.beginTurn(turn++);
    let done;
    let spent = await milliseconds(async () => {
      done = await commands.willRun();
    });
    for (const path of commands.some()) writeFileSync(path, `turn ${turn} ${path}`.padEnd(bytes, "."));
    spent += await milliseconds(done);
    return spent + (await milliseconds(() => commands.endTurn()));
  }

  function byGit() {
    turn++;
    for (const path of theirs.some()) writeFileSync(path, `turn ${turn} ${path}`.padEnd(bytes, "."));
    return milliseconds(() => {
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

function git(cwd, ...args) {
  return execFileSync("git", args, { cwd, encoding: "utf8" });
}
