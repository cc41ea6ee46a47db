import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createOfflineModel } from "../../src/providers/index.js";
import { builtinTools, localWorkspace } from "../../src/tools/index.js";
import { of, takeTurn, toolNamed } from "../take-turn.js";

async function workspace() {
  const cwd = await realpath(await mkdtemp(join(tmpdir(), "agent-offline-")));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  await writeFile(join(cwd, "README.md"), "# Otters\nThey hold hands.\n");
  await writeFile(join(cwd, "notes.txt"), "one fish, two fish\n");
  return cwd;
}

async function ask(cwd: string, prompt: string, tools = builtinTools()) {
  const options = { resolveModel: () => createOfflineModel(), tools };
  return takeTurn(options, { prompt, context: { workspace: localWorkspace(cwd) } });
}

const calls = (events: Awaited<ReturnType<typeof ask>>) =>
  of(events, "tool_call").map(({ tool, args }) => [tool, args]);
const output = (events: Awaited<ReturnType<typeof ask>>) => of(events, "agent_result")[0]?.output ?? "";

describe("offline", () => {
  it("lists and reads in one request, finding the file by the name it was listed under", async () => {
    const events = await ask(await workspace(), "List files and read README");
    expect(calls(events)).toEqual([
      ["list_files", { path: "." }],
      ["Read", { path: "README.md" }],
    ]);
    expect(output(events)).toContain("They hold hands.");
  });

  it("reads a file although the request omits its ending", async () => {
    const events = await ask(await workspace(), "please read the README.");
    expect(of(events, "agent_result")).toMatchObject([
      { success: true, output: expect.stringContaining("They hold hands.") },
    ]);
  });

  it("writes, edits, runs and searches, one step after the other", async () => {
    const cwd = await workspace();
    const events = await ask(
      cwd,
      'write poem.txt: "roses are red and so on" then edit poem.txt replace "red" with "blue", run `cat poem.txt` and search for roses',
    );
    expect(await readFile(join(cwd, "poem.txt"), "utf8")).toBe("roses are blue and so on");
    expect(calls(events).map(([tool]) => tool)).toEqual(["Write", "Edit", "Bash", "search"]);
    expect(of(events, "tool_result").map((result) => result.success)).toEqual([true, true, true, true]);
    expect(output(events)).toContain("roses are blue");
  });

  it.each([
    ["search for black and white", [["search", { pattern: "black and white" }]]],
    ["run `echo a and then b`", [["Bash", { command: "echo a and then b" }]]],
    [
      "run echo hello, then read notes.txt",
      [
        ["Bash", { command: "echo hello" }],
        ["Read", { path: "notes.txt" }],
      ],
    ],
    [
      "write a.md:\n```\n# Title\n\nread me and run\n```\nthen list files",
      [
        ["Write", { path: "a.md", content: "# Title\n\nread me and run" }],
        ["list_files", { path: "." }],
      ],
    ],
    ["create a file b.txt with the content it's here", [["Write", { path: "b.txt", content: "it's here" }]]],
    [
      'replace "one" with "three" in notes.txt',
      [["Edit", { path: "notes.txt", old_string: "one", new_string: "three" }]],
    ],
  ])("understands %j", async (prompt, expected) => {
    expect(calls(await ask(await workspace(), prompt))).toEqual(expected);
  });

  it("stops at a failed step and lists the steps that are left", async () => {
    const events = await ask(await workspace(), "read missing.txt then run `echo never`");
    expect(calls(events)).toHaveLength(1);
    expect(output(events)).toMatch(/Failed: read missing.txt[\s\S]*Not done: run echo never/);
  });

  it("calls custom tools by name", async () => {
    const weather = toolNamed("weather", async ({ city }) => ({ success: true, output: `Sunny in ${String(city)}` }));
    const events = await ask(await workspace(), 'call weather {"city":"Lisbon"}', [weather]);
    expect(output(events)).toContain("Sunny in Lisbon");
  });

  it.each([
    "Write me a sonnet",
    "What is the meaning of life?",
    "",
    "read",
    "```".repeat(500),
    "and then ".repeat(2000),
  ])("answers that %j needs a model, and says how to get one", async (prompt) => {
    const events = await ask(await workspace(), prompt);
    expect(calls(events)).toEqual([]);
    expect(output(events)).toMatch(/offline.*ANTHROPIC_API_KEY/s);
  });

  it.each([
    ["Write me a sonnet", "“Write me a sonnet” needs a model."],
    ["\n  Explain the parser  \nin every detail", "“Explain the parser” needs a model."],
    ["why ".repeat(500), `“${"why ".repeat(50)}” needs a model.`],
  ])("begins the answer to %j with the request, which becomes the session's title", async (prompt, first) => {
    expect(output(await ask(await workspace(), prompt)).split("\n")[0]).toBe(first);
  });

  it("says so when there is no tool for a step", async () => {
    expect(output(await ask(await workspace(), "list files", []))).toMatch(/no tool for: list the files/);
  });

  it("takes long and hostile requests in linear time", async () => {
    const cwd = await workspace();
    for (const prompt of [
      " ".repeat(200_000),
      "read ".repeat(40_000),
      "\"'`".repeat(50_000),
      "replace a with b with ".repeat(8_000),
      "list".concat(",".repeat(90_000)),
      "x,".repeat(2_000_000),
    ]) {
      expect(of(await ask(cwd, prompt, []), "turn_end")).toEqual([{ stop_reason: "end_turn" }]);
    }
  }, 10_000);
});
