import { describe, expect, test } from "vitest";
import type { ClientTerminal } from "../../src/index.js";
import { acpTerminalTool, builtinTools, resolveTools, thinkTool, todoTool } from "../../src/tools/index.js";
import { bench } from "./bench.js";

describe("todo and think", () => {
  test("todo shows the whole plan", async () => {
    const { run, events } = await bench();
    const todos = [
      { content: "look", status: "completed" },
      { content: "fix", priority: "high" },
    ];
    expect(await run(todoTool, { todos })).toEqual({ success: true, output: "2 in the plan, 1 open." });
    expect(events).toEqual([
      {
        type: "plan",
        metadata: {
          entries: [
            { content: "look", priority: "medium", status: "completed" },
            { content: "fix", priority: "high", status: "pending" },
          ],
        },
      },
    ]);
  });

  test("think changes nothing", async () => {
    const { run, events } = await bench();
    expect(await run(thinkTool, { thought: "hm" })).toMatchObject({ success: true });
    expect(events).toEqual([]);
  });
});

describe("acp_terminal", () => {
  const finished = { output: "hello", truncated: false, exitCode: 0, signal: null, timedOut: false };
  const terminal = (result: Record<string, unknown>, seen: unknown[] = []): ClientTerminal => ({
    run: async (request) => {
      seen.push(request);
      request.onStart("term-1");
      return { ...finished, ...result } as never;
    },
  });

  test.each([
    [{}, true, "hello\n[exit code: 0]"],
    [{ exitCode: 2, truncated: true }, false, "hello\n[output truncated]\n[exit code: 2]"],
    [{ exitCode: null, signal: "SIGKILL" }, false, "hello\n[signal: SIGKILL]"],
    [{ exitCode: null, timedOut: true }, false, "hello\n[timed out after 60 s]"],
  ])("ends with the result of the command: %j", async (result, success, output) => {
    const { run, events, workspace, cwd } = await bench();
    const seen: unknown[] = [];
    const options = { workspace: { ...workspace, terminal: terminal(result, seen) } };
    const outcome = await run(acpTerminalTool, { command: "echo", args: ["hello"] }, options);
    expect(outcome).toMatchObject({ success, output, content: [{ type: "terminal", terminal_id: "term-1" }] });
    expect(seen).toMatchObject([{ command: "echo", args: ["hello"], cwd, env: {}, timeoutMs: 60_000 }]);
    expect(events).toEqual([{ type: "terminal_output", metadata: { call_id: "call-1", terminal_id: "term-1" } }]);
  });

  test("rules see one command line", async () => {
    const { workspace } = await bench();
    const described = acpTerminalTool.describe(
      { command: "rm", args: ["-rf", "a b"], cwd: ".", env: {}, timeout: 1 },
      workspace,
    );
    expect(described.touches.command).toBe("rm -rf 'a b'");
  });

  test("a question counts the characters of the command that it does not show", async () => {
    const { workspace } = await bench();
    const args = ["x".repeat(200), "; rm -rf ~"];
    const { title } = acpTerminalTool.describe({ command: "echo", args, cwd: ".", env: {}, timeout: 1 }, workspace);
    expect(title).toMatch(/^echo x{115} … \(\d+ more characters\)$/);
  });
});

describe("names", () => {
  const tools = builtinTools();
  const named = (...names: string[]) => resolveTools(names, tools).map(({ name }) => name);

  test("finds each tool once, by either name in any case", () => {
    expect(named("bash", "READ", "read_file", "grep", " glob ")).toEqual(["Read", "Bash", "search", "list_files"]);
    expect(named("Edit_File", "mcp__server__later")).toEqual(["Edit"]);
  });

  test("an unknown name is an error that lists the valid ones", () => {
    expect(() => named("Read", "Reed")).toThrow(
      expect.objectContaining({ code: "unknown_tool", message: expect.stringMatching(/"Reed".*Read\/read_file/) }),
    );
  });

  test("no two tools have the same name", () => {
    const names = tools.flatMap(({ name, aliases }) => [name, ...aliases]).map((name) => name.toLowerCase());
    expect(new Set(names).size).toBe(names.length);
  });

  test("every tool has an object schema that lists the required properties", () => {
    for (const { inputSchema } of tools)
      expect(inputSchema).toMatchObject({ type: "object", required: expect.any(Array) });
    expect(tools.find(({ name }) => name === "Bash")?.inputSchema).toEqual({
      type: "object",
      properties: {
        command: { type: "string", minLength: 1, description: "The command line, as for bash -c." },
        timeout: {
          type: "number",
          minimum: 0.1,
          maximum: 600,
          description: "Seconds after which it is ended. Left out: after a minute it goes on as a job.",
        },
        background: {
          type: "boolean",
          description: "Run it as a job, with input: a server, a watcher.",
          default: false,
        },
        cwd: { type: "string", description: "Where to run it; the workspace when left out.", default: "." },
      },
      required: ["command"],
    });
    expect(tools.find(({ name }) => name === "Read")?.inputSchema).toMatchObject({
      properties: { offset: { type: "integer", minimum: 1 }, limit: { type: "integer", minimum: 1 } },
    });
  });
});
