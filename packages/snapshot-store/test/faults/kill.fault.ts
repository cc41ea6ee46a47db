import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import type { Direction } from "../../src/index.js";
import { fiftyFiles } from "../fifty-files.js";
import { type Fixture, fixture } from "../workspace.js";
import { tally } from "./tally.js";

const script = fileURLToPath(new URL("../children/restore.mjs", import.meta.url));

beforeAll(() => {
  if (spawnSync("strace", ["-V"]).status === 0) return;
  execFileSync("apt-get", ["install", "-y", "-q", "strace"], { stdio: "inherit" });
});

/** Runs one undo or redo under strace; with `inject`, a fault at one system call. One pool thread, since strace counts per thread. */
function traced(f: Fixture, direction: Direction, syscall: string, inject?: string) {
  const log = join(f.base, "strace.log");
  const rules = inject === undefined ? [] : ["-e", `inject=${syscall}:${inject}`];
  const args = [
    "-f",
    "-qq",
    "-o",
    log,
    "-e",
    `trace=${syscall}`,
    ...rules,
    process.execPath,
    script,
    f.root,
    f.ws,
    direction,
  ];
  const result = spawnSync("strace", args, {
    env: { PATH: process.env["PATH"], UV_THREADPOOL_SIZE: "1" },
    encoding: "utf8",
  });
  const perThread = new Map<string, number>();
  const lines = readFileSync(log, "utf8").split("\n");
  for (const line of lines.filter((each) => each.includes(`${syscall}(`))) {
    const thread = line.split(" ")[0]!;
    perThread.set(thread, (perThread.get(thread) ?? 0) + 1);
  }
  const injected = lines.some((line) => line.includes("INJECTED"));
  return { ...result, injected, calls: Math.max(0, ...perThread.values()) };
}

describe.for(["undo", "redo"] as const)("%s", (direction) => {
  for (const syscall of ["rename", "unlink", "rmdir", "mkdir", "fsync"]) {
    test(`kill at every ${syscall} of a fifty-file ${direction}: after the next start the files are as the log says`, async () => {
      const f = fixture();
      const turn = await fiftyFiles(f, direction);
      const total = traced(f, direction, syscall).calls;
      expect(f.tree()).toEqual(turn.to);
      const cases = tally(`${direction}: kill at ${syscall}`, total);
      const ends = { done: 0, untouched: 0 };
      for (let at = 1; at <= total; at += 1) {
        turn.reset();
        const killed = traced(f, direction, syscall, `signal=SIGKILL:when=${at}`);
        if (killed.signal !== "SIGKILL" && killed.status !== 137) continue;
        const recorded = existsSync(join(f.root, "recorded"));
        await f.reopened(async () => recorded).settle();
        expect(f.tree(), `killed at ${syscall} ${at}`).toEqual(recorded ? turn.to : turn.from);
        ends[recorded ? "done" : "untouched"] += 1;
        cases.done();
      }
      console.log(`${direction}: kill at ${syscall}: ${ends.done} kept, ${ends.untouched} taken back`);
      cases.close();
    });
  }

  for (const [syscall, error] of [
    ["rename", "EIO"],
    ["rename", "EACCES"],
    ["unlink", "EROFS"],
    ["mkdir", "ENOSPC"],
    ["fchmod", "EPERM"],
  ] as const) {
    test(`${syscall} failing with ${error} at every call: nothing is restored, and ${direction} works afterwards`, async () => {
      const f = fixture();
      const turn = await fiftyFiles(f, direction);
      const total = traced(f, direction, syscall).calls;
      const cases = tally(`${direction}: ${syscall} fails with ${error}`, total);
      for (let at = 1; at <= total; at += 1) {
        turn.reset();
        const failed = traced(f, direction, syscall, `error=${error}:when=${at}`);
        const recorded = existsSync(join(f.root, "recorded"));
        const tree = f.tree();
        const report = await f.reopened(async () => recorded).settle();
        const after = f.tree();
        if (report === null) expect(tree).toEqual(after);
        expect(after, `${syscall} ${at}: ${failed.stderr}`).toEqual(recorded ? turn.to : turn.from);
        if (!recorded) expect(await f.reopened()[direction]()).toMatchObject({ conflicts: [] });
        expect(f.tree()).toEqual(turn.to);
        if (failed.injected) cases.done();
      }
      cases.close();
    });
  }

  test("fsync failing at every call: nothing is restored on content that may not be on the disk", async () => {
    const f = fixture();
    const turn = await fiftyFiles(f, direction);
    const total = traced(f, direction, "fsync").calls;
    const cases = tally(`${direction}: fsync fails with EIO`, total);
    for (let at = 1; at <= total; at += 1) {
      turn.reset();
      const failed = traced(f, direction, "fsync", `error=EIO:when=${at}`);
      const recorded = existsSync(join(f.root, "recorded"));
      expect(f.tree(), `fsync ${at}: ${failed.stderr}`).toEqual(recorded ? turn.to : turn.from);
      if (failed.injected) cases.done();
    }
    cases.close();
  });
});
