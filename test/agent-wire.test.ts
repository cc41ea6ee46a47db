// What a model may send, through the built program and against vendors that refuse what the real ones refuse.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { vendors } from "../packages/agent/test/vendors/all.js";
import { createClaude } from "../packages/agent/test/vendors/claude.js";
import { type ModelReply, startVendor, type Vendor } from "../packages/agent/test/vendors/vendor.js";
import { startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

async function print(vendor: Vendor, replies: readonly ModelReply[], env: Readonly<Record<string, string>> = {}) {
  const running = await startVendor(vendor, replies);
  onTestFinished(running.close);
  const home = scratchTree({ "permissions.json": { rules: [{ tool: "*", action: "allow" }] } });
  const cwd = scratchTree({ "lines.txt": Array.from({ length: 40 }, (_, n) => `line ${n + 1}`).join("\n") });
  const args = ["--output-format", "json", "--model", vendor.model, "-p", "go"];
  const program = startProgram("otter", args, { ...vendor.env(running.url), ...env }, { home, cwd });
  let stdout = "";
  program.child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  program.child.stdin.end();
  const code = await program.exited;
  return { code, result: JSON.parse(stdout), running, cwd };
}

const done: ModelReply = { says: [{ text: "Done." }] };

describe.each(vendors)("$name", ({ create, env = {} }) => {
  test("arguments that are meant well run as they were meant, without another round trip", async () => {
    const calls = [
      { call: "read_file", args: { file_path: "lines.txt", limit: "5", offset: null } },
      { call: "Bash", args: { command: "echo said", timeout: 120_000 } },
      { call: "functions.Read", args: { path: "lines.txt", offset: "39", limit: 99_999_999 } },
    ];
    const { code, result, running } = await print(create(), [{ says: calls }, done], env);
    expect([code, result.success, result.output]).toEqual([0, true, "Done."]);
    const last = JSON.stringify(running.answered.at(-1)?.body);
    for (const words of ["line 5", "said", "line 40"]) expect(last).toContain(words);
    expect(last).not.toContain("line 6\\");
    expect(running.left()).toBe(0);
  });

  test("half a Write is not run, and the whole one that follows is", async () => {
    const write = (content: string) => ({ call: "Write", args: { path: "out.txt", content } });
    const replies: ModelReply[] = [
      { says: [{ text: "Writing. " }, write("half")], stop: "max_tokens" },
      { says: [write("whole")] },
      done,
    ];
    const { code, result, running, cwd } = await print(create(), replies, env);
    expect([code, result.success, result.output]).toEqual([0, true, "Done."]);
    expect(readFileSync(join(cwd, "out.txt"), "utf8")).toBe("whole");
    expect(running.left()).toBe(0);
  });
});

test.each([
  ["claude-opus-5-5", "adaptive", { type: "adaptive", display: "summarized" }, { effort: "high" }],
  ["claude-nobody-knows-9", "adaptive", { type: "adaptive", display: "summarized" }, { effort: "high" }],
  ["claude-haiku-4-5", "enabled", { type: "enabled", budget_tokens: expect.any(Number) }, undefined],
] as const)(
  "the thinking level that a person sets reaches %s in its own form",
  async (model, thinking, asked, effort) => {
    const vendor = createClaude({ model, thinking, ...(thinking === "enabled" && { maxOutput: 64_000 }) });
    const { code, running } = await print(vendor, [done], { CHIMERA_THINKING_LEVEL: "high" });
    expect(code).toBe(0);
    expect(running.answered.map(({ body }) => [body.thinking, body.output_config])).toEqual([[asked, effort]]);
  },
);
