import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { program, startServer } from "./server-process.js";

describe("a server on stdio", () => {
  it("keeps everything but frames off stdout", async () => {
    const server = startServer();
    server.child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"noise"}\n');
    await server.seen('"id":1');
    expect(await server.finish()).toBe(0);
    expect(server.lines()).toEqual(['{"jsonrpc":"2.0","id":1,"result":"quiet"}']);
    for (const source of ["console.log", "console.error", "process.stdout"]) {
      expect(server.stderr()).toContain(`noise from ${source}`);
    }
  });

  it("answers the requests it has read, then closes at the end of input", async () => {
    const server = startServer();
    server.child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"late"}');
    expect(await server.finish()).toBe(0);
    expect(server.lines()).toEqual(['{"jsonrpc":"2.0","id":1,"result":{}}']);
    expect(server.stderr()).toContain("closed: input_ended");
  });

  it("closes when its output is closed", async () => {
    const server = startServer();
    server.child.stdout.destroy();
    server.child.stdin.on("error", () => {});
    server.child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"flood","params":{"count":1000}}\n');
    const code = await new Promise((resolve) => server.child.once("exit", resolve));
    expect(code).toBe(0);
    await expect.poll(server.stderr, { timeout: 10_000 }).toContain("closed: output_failed");
  });

  it("writes a flood whole and in order through a real pipe", async () => {
    const server = startServer();
    server.child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"flood","params":{"count":20000}}\n');
    await server.seen('"id":1');
    expect(
      server
        .lines()
        .slice(0, -1)
        .map((line) => JSON.parse(line).params.i),
    ).toEqual([...Array(20_000).keys()]);
    await server.finish();
  });

  it("closes when its parent has vanished, although stdin stays open", async () => {
    const maker = spawn(process.execPath, [program("orphan-maker.mjs")], { stdio: ["pipe", "pipe", "pipe"] });
    let pid = "";
    let stderr = "";
    maker.stdout.on("data", (chunk) => {
      pid += chunk;
    });
    maker.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    await expect.poll(() => pid, { timeout: 10_000 }).toMatch(/^\d+\n$/);
    await expect.poll(() => stderr, { timeout: 10_000 }).toContain("closed: input_ended");
    await expect.poll(() => isRunning(Number(pid)), { timeout: 10_000 }).toBe(false);
    maker.stdin.destroy();
  });
});

/** Whether a process runs. One that has ended and was not collected by its parent yet does not count. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== "linux" || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
