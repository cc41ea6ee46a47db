import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, realpathSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { localWorkspace } from "../../src/tools/index.js";

test("the first write into a directory removes what killed processes left there, and nothing else", async () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "agent-drafts-")));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const hourAgo = Date.now() / 1000 - 3600;
  const leave = (pid: number, name = `.chimera-${pid}-${crypto.randomUUID()}.tmp`, time = hourAgo) => {
    writeFileSync(join(cwd, name), "half of it");
    utimesSync(join(cwd, name), time, time);
    return name;
  };
  const dead = spawnSync(process.execPath, ["--version"]).pid;
  leave(dead);
  const kept = [leave(process.pid), leave(dead, undefined, Date.now() / 1000), leave(dead, ".chimera-notes.tmp")];

  await localWorkspace(cwd).writeText(join(cwd, "a.txt"), "a");
  expect(readdirSync(cwd).sort()).toEqual([...kept, "a.txt"].sort());
});
