import { spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createBashTool } from "../../src/tools/index.js";
import { bench } from "./bench.js";

const bashTool = createBashTool({
  env: { PATH: process.env["PATH"], SECRET_TOKEN: "s3cret", HTTPS_PROXY: "http://me:pw@proxy" },
});

async function alive(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return status !== "" && !/^State:\s+Z/m.test(status);
}

/** Waits for an effect of the operating system. */
const soon = { interval: 20, timeout: 10_000 };

describe("Bash", () => {
  test("returns output, errors and exit code", async () => {
    const { run, events, cwd } = await bench();
    expect(await run(bashTool, { command: "pwd" })).toEqual({ success: true, output: `${cwd}\n` });
    expect(await run(bashTool, { command: "echo out; echo err >&2; exit 3" })).toEqual({
      success: false,
      output: "out\n\nSTDERR:\nerr\n\nExit code 3",
      error: "Exit code 3",
    });
    expect(events).toContainEqual({
      type: "tool_progress",
      metadata: { call_id: "call-1", stream: "stderr", chunk: "err\n" },
    });
  });

  test("has no input, no terminal and no secrets", async () => {
    const { run } = await bench();
    const { output } = await run(bashTool, { command: "cat; env; tty" });
    expect(output).not.toContain("s3cret");
    expect(output).not.toContain("pw@");
    expect(output).toContain("not a tty");
  });

  test("keeps characters whole that are split between chunks", async () => {
    const { run } = await bench();
    const { output } = await run(bashTool, { command: "printf '\\xe2\\x82'; sleep 0.1; printf '\\xac'" });
    expect(output).toBe("€");
  });

  test("long output loses its middle and is saved in full", async () => {
    const { run, events } = await bench();
    const kept: string[] = [];
    const spill = async (name: string, text: string) => {
      kept.push(text);
      return `/aside/${name}`;
    };
    const { output } = await run(bashTool, { command: "seq 1 200000; echo THE END" }, { spill });
    expect(output.length).toBeLessThanOrEqual(30_000);
    expect(output).toMatch(/^1\n2\n/);
    expect(output).toMatch(/THE END\n$/);
    expect(output).toContain("the full text is in /aside/call-1, for Read");
    expect(kept[0]?.split("\n")).toHaveLength(200_002);
    const shown = events.reduce(
      (sum, event) => sum + (event.type === "tool_progress" ? event.metadata.chunk.length : 0),
      0,
    );
    expect(shown).toBeLessThan(400_000);
  });

  test("endless output does not fill the memory", async () => {
    const { run } = await bench();
    const before = process.memoryUsage().rss;
    const outcome = await run(bashTool, { command: "yes", timeout: 1 });
    expect(outcome).toMatchObject({ success: false, error: "Timed out after 1 s" });
    expect(outcome.output.length).toBeLessThan(30_100);
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024);
  });

  test("background processes of a command end with it", async () => {
    const { run } = await bench();
    const { output } = await run(bashTool, { command: "sleep 60 & echo $!" });
    await expect.poll(() => alive(Number(output)), soon).toBe(false);
  });

  const leaving: [what: string, command: string, tags: string[]][] = [
    ["in a session of its own", "setsid sleep 60 >/dev/null 2>&1 & echo $!", ["needs-setsid", "needs-linux"]],
    ["in a second session, from a program that goes", "(setsid sh -c 'sleep 60 & echo $!' 2>&1); :", ["needs-setsid"]],
    [
      "that a program of its own kind detached",
      `'${process.execPath}' -e 'const c = require("child_process").spawn("sleep", ["60"], { detached: true, stdio: "ignore" }); console.log(c.pid); c.unref()'`,
      ["needs-linux"],
    ],
  ];
  for (const [what, command, tags] of leaving) {
    test(`what it leaves ${what} ends with it, and nothing else does`, { tags }, async () => {
      const other = spawn("sleep", ["60"], { stdio: "ignore", detached: true });
      onTestFinished(() => void other.kill("SIGKILL"));
      const { run } = await bench();
      const { output } = await run(bashTool, { command });
      expect(Number(output)).toBeGreaterThan(1);
      await expect.poll(() => alive(Number(output)), soon).toBe(false);
      expect(await alive(other.pid as number)).toBe(true);
    });
  }

  const aborted: [what: string, command: string, tags: string[]][] = [
    ["a child that ignores SIGTERM", `trap '' TERM; echo $$; sleep 60 & echo $!; while :; do sleep 0.1; done`, []],
    ["a child in a session of its own", `setsid sleep 60 & echo $!; sleep 60`, ["needs-setsid"]],
    [
      "one that carries much",
      `export MUCH=$(head -c 100000 /dev/zero | tr '\\0' x) MORE=$(head -c 50000 /dev/zero | tr '\\0' y); setsid sleep 60 & echo $!; sleep 60`,
      ["needs-setsid"],
    ],
  ];

  const kills = async (command: string) => {
    const { run, events } = await bench();
    const controller = new AbortController();
    const running = run(bashTool, { command }, { signal: controller.signal });
    const printed = () => events.map((event) => (event.type === "tool_progress" ? event.metadata.chunk : "")).join("");
    const wanted = command.split("echo").length - 1;
    await expect.poll(() => printed().match(/\n/g)?.length ?? 0, soon).toBeGreaterThanOrEqual(wanted);
    const pids = printed().trim().split("\n").map(Number);
    const started = performance.now();
    controller.abort();
    await expect(running).rejects.toThrow();
    expect(performance.now() - started).toBeLessThan(2000);
    for (const pid of pids) await expect.poll(() => alive(pid), soon).toBe(false);
  };

  for (const [what, command, tags] of aborted) {
    test(`an abort kills ${what} within two seconds`, { tags }, () => kills(command));
  }

  test("an abort takes no memory for each process of the machine", async () => {
    const others = Array.from({ length: 60 }, () => spawn("sleep", ["60"], { stdio: "ignore" }));
    onTestFinished(() => others.forEach((other) => void other.kill("SIGKILL")));
    const { run, events } = await bench();
    const controller = new AbortController();
    const running = run(bashTool, { command: "echo up; sleep 60" }, { signal: controller.signal });
    await expect.poll(() => events.map(({ type }) => type), soon).toContain("tool_progress");
    const before = process.memoryUsage().external;
    let peak = before;
    let isOver = false;
    controller.abort();
    const over = running
      .catch(() => {})
      .then(() => {
        isOver = true;
      });
    while (!isOver) {
      peak = Math.max(peak, process.memoryUsage().external);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await over;
    expect((peak - before) / 2 ** 20).toBeLessThan(2);
  });

  test("undo is notified before and after a command", async () => {
    const { run, workspace } = await bench();
    const order: string[] = [];
    const willRun = async (command: string) => {
      order.push(`before ${command}`);
      return async () => {
        order.push("after");
        return [];
      };
    };
    await run(bashTool, { command: "true" }, { workspace: { ...workspace, willRun } });
    expect(order).toEqual(["before true", "after"]);
  });

  test("a confinement passes descriptors, is released, and reports a violation", async () => {
    const { run, file, events } = await bench();
    const handle = await open(await file("given.txt", "through a descriptor\n"));
    let released = 0;
    const confined = createBashTool({
      confine: ({ command }) => ({
        file: "/bin/sh",
        args: ["-c", command],
        env: {},
        descriptors: [handle.fd],
        release: () => void released++,
        violation: (stderr, failed) =>
          failed && stderr.includes("wall") ? { reason: "it met the wall", path: "/wall" } : null,
        mode: "strict",
      }),
    });
    const command = "cat <&3; echo wall >&2; exit 1";
    expect(await run(confined, { command })).toMatchObject({ success: false, error: "Exit code 1" });
    await handle.close();
    expect(events.filter(({ type }) => type === "sandbox_violation").map(({ metadata }) => metadata)).toEqual([
      { tool: "Bash", path: "/wall", command, mode: "strict", reason: "it met the wall" },
    ]);
    expect(JSON.stringify(events)).toContain("through a descriptor");
    expect(released).toBe(1);
  });

  test("a confinement decides what is spawned, if anything", async () => {
    const { run, cwd } = await bench();
    const confined = createBashTool({
      confine: ({ command, cwd: directory }) =>
        command === "no" ? { refused: "not here" } : { file: "/bin/echo", args: [directory, command], env: {} },
    });
    expect(await run(confined, { command: "yes" })).toEqual({ success: true, output: `${cwd} yes\n` });
    expect(await run(confined, { command: "no" })).toEqual({
      success: false,
      output: "not here",
      error: "sandbox_violation",
    });
  });

  test("cannot start outside the workspace or in something other than a directory", async () => {
    const { run, outside, file } = await bench();
    await file("plain", "");
    expect(await run(bashTool, { command: "pwd", cwd: outside })).toMatchObject({
      success: false,
      error: expect.stringContaining("outside"),
    });
    expect(await run(bashTool, { command: "pwd", cwd: "plain" })).toMatchObject({ success: false });
    expect(await run(bashTool, { command: "a\0b" })).toMatchObject({
      success: false,
      error: expect.stringContaining("NUL"),
    });
  });

  test("shows its first line and gives the whole command to the policy", () => {
    const workspace = { cwd: join("/", "tmp"), directories: [] };
    const described = bashTool.describe(
      { command: "ls\nrm x", timeout: 1, cwd: ".", background: false },
      workspace as never,
    );
    expect(described).toMatchObject({
      title: "ls … (5 more characters)",
      touches: { command: "ls\nrm x", writes: [] },
    });
  });
});
