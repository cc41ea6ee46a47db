import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, realpathSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { localWorkspace } from "../../src/tools/index.js";

test("the first write into a directory removes the drafts of killed processes, and nothing else", async () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "agent-drafts-")));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const hourAgo = Date.now() / 1000 - 3600;
  const leave = (pid: number, name = `.chimera-${pid}-${crypto.randomUUID()}.tmp`, time = hourAgo) => {
    writeFileSync(join(cwd, name), "half of it");
    utimesSync(join(cwd, name), time, time);
    return name;
  };
  const dead = spawnSync(process.execPath, ["--version"]).pid;
  const now = Date.now() / 1000;
  const named = (pid: number, place: string) => `.chimera-${pid}-${place}.${crypto.randomUUID()}.tmp`;
  leave(dead);
  // A process number from another machine, container or boot means nothing here, even if it equals ours.
  leave(process.pid, named(process.pid, "0123abcd"));
  const kept = [
    leave(process.pid),
    leave(dead, undefined, now),
    leave(dead, named(dead, "0123abcd"), now),
    leave(dead, ".chimera-notes.tmp"),
  ];

  await localWorkspace(cwd).writeText(join(cwd, "a.txt"), "a");
  expect(readdirSync(cwd).sort()).toEqual([...kept, "a.txt"].sort());
});

test("a process that is killed in a write leaves a draft, which the next write removes at once", {
  tags: ["needs-linux"],
}, async () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "agent-drafts-")));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const tools = new URL("../../dist/tools/index.js", import.meta.url).href;
  const script = `import { localWorkspace } from ${JSON.stringify(tools)};
    for (;;) await localWorkspace("/").writeText(process.argv[1] + "/big.txt", "x".repeat(8 << 20));`;
  const drafts = () => readdirSync(cwd).filter((name) => name.startsWith(".chimera-"));
  const writer = spawn(process.execPath, ["--input-type=module", "-e", script, cwd], { stdio: "ignore" });
  const ended = once(writer, "exit");
  onTestFinished(() => void writer.kill("SIGKILL"));
  // Stopped in the middle of a write, and killed there.
  await expect
    .poll(
      () => {
        writer.kill("SIGSTOP");
        const found = drafts().length;
        if (found === 0) writer.kill("SIGCONT");
        return found;
      },
      { interval: 1, timeout: 10_000 },
    )
    .toBe(1);
  writer.kill("SIGKILL");
  await ended;
  expect(drafts()).toHaveLength(1);
  await localWorkspace(cwd).writeText(join(cwd, "a.txt"), "a");
  expect(drafts()).toEqual([]);
});
