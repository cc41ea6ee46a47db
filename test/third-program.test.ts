// A program with a dialect of its own is a folder and nothing else: no package knows its name.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import type { Frame } from "./peer.js";
import { repositoryRoot, scratchTree } from "./scratch.js";

test("a third program serves its own dialect and standard ACP", async () => {
  const cwd = scratchTree({ "README.md": "# x\n" });
  const start = (...args: string[]) => {
    const child = spawn(process.execPath, [join(repositoryRoot, "test/fixtures/heron/main.mjs"), "serve", ...args], {
      cwd,
      env: { PATH: process.env["PATH"], HOME: cwd, CHIMERA_HOME: join(cwd, "home") },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const frames: Frame[] = [];
    createInterface({ input: child.stdout }).on("line", (line) => frames.push(JSON.parse(line)));
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr += text;
    });
    let lastId = 0;
    const call = async (method: string, params: object) => {
      const id = ++lastId;
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      await expect.poll(() => frames.some((frame) => frame.id === id), { timeout: 20_000 }).toBe(true);
      return frames.find((frame) => frame.id === id)!;
    };
    return { child, frames, call, stderr: () => stderr };
  };
  const own = start("--model", "offline");
  expect((await own.call("initialize", { protocolVersion: "0.7" })).result).toMatchObject({
    protocolVersion: "0.7",
    agentInfo: { name: "heron" },
  });
  const { sessionId } = (await own.call("session/new", {})).result;
  expect(sessionId).toMatch(/^heron-/);
  await own.call("session/message", { sessionId, message: "hello" });
  expect(own.frames.some(({ params }) => typeof params?.heronSays === "string")).toBe(true);
  const editor = start("--model", "offline");
  expect((await editor.call("initialize", { protocolVersion: 1 })).result).toMatchObject({ protocolVersion: 1 });
  const { error } = await editor.call("session/message", {});
  expect(error?.data).toMatchObject({ hint: "session/message belongs to the heron dialect" });
  const wrong = start("--acp-dialect", "otter");
  const [code] = await once(wrong.child, "close");
  expect([code, wrong.stderr()]).toEqual([2, expect.stringContaining("auto, heron, acp")]);
});
