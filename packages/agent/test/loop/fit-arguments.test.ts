import { describe, expect, it } from "vitest";
import { callsInText } from "../../src/loop/call.js";
import { fitArguments } from "../../src/loop/fit-arguments.js";
import { createToolbox } from "../../src/loop/toolbox.js";
import { builtinTools } from "../../src/tools/index.js";

const toolbox = createToolbox(builtinTools(), null);
const schemaOf = (name: string) => toolbox.find(name)?.inputSchema ?? {};

describe("arguments are fitted to the tool's schema", () => {
  it.each([
    ["a number sent as text", "Read", { path: "a", limit: "5" }, { path: "a", limit: 5 }],
    ["null for an option left out", "Read", { path: "a", offset: null }, { path: "a" }],
    ["a number below the minimum", "Read", { path: "a", offset: 0 }, { path: "a", offset: 1 }],
    ["a fraction for a whole number", "Read", { path: "a", limit: 2.6 }, { path: "a", limit: 3 }],
    ["file_path for path", "Read", { file_path: "a" }, { path: "a" }],
    ["filePath for path", "Read", { filePath: "a" }, { path: "a" }],
    ["cmd for command", "Bash", { cmd: "ls" }, { command: "ls" }],
    ["milliseconds for seconds", "Bash", { command: "ls", timeout: 120_000 }, { command: "ls", timeout: 120 }],
    ["timeout_ms for timeout", "Bash", { command: "ls", timeout_ms: 5000 }, { command: "ls", timeout: 5 }],
    ["seconds above the limit", "Bash", { command: "ls", timeout: 900 }, { command: "ls", timeout: 600 }],
    ["milliseconds above the limit", "Bash", { command: "ls", timeout: 6_000_000 }, { command: "ls", timeout: 600 }],
    ["a command as words", "Bash", { command: ["echo", "a b", "it's"] }, { command: "echo 'a b' 'it'\\''s'" }],
    ["a command for a shell", "Bash", { command: ["bash", "-lc", "npm test"] }, { command: "npm test" }],
    ["a boolean as text", "search", { pattern: "x", ignore_case: "True" }, { pattern: "x", ignore_case: true }],
    ["a boolean as a number", "search", { pattern: "x", ignore_case: 1 }, { pattern: "x", ignore_case: true }],
    ["a number for a text", "search", { pattern: 42 }, { pattern: "42" }],
    [
      "old_str and new_str",
      "Edit",
      { path: "a", old_str: "x", new_str: "y" },
      { path: "a", old_string: "x", new_string: "y" },
    ],
    ["lines for a text", "Write", { path: "a", content: ["x", "y"] }, { path: "a", content: "x\ny" }],
    ["a JSON file as a value", "Write", { path: "a", content: { x: 1 } }, { path: "a", content: '{\n  "x": 1\n}' }],
    ["a list as JSON text", "todo", { todos: '[{"content":"a"}]' }, { todos: [{ content: "a" }] }],
    ["a list of texts for objects", "todo", { todos: ["a"] }, { todos: [{ content: "a" }] }],
    [
      "a choice spelled otherwise",
      "todo",
      { todos: [{ content: "a", status: "In-Progress" }] },
      { todos: [{ content: "a", status: "in_progress" }] },
    ],
    ["the whole object wrapped", "Read", { arguments: { path: "a" } }, { path: "a" }],
    ["the whole object wrapped as JSON text", "Read", { input: '{"path":"a"}' }, { path: "a" }],
  ])("%s", (_title, tool, sent, meant) => {
    expect(fitArguments(sent, schemaOf(tool))).toEqual(meant);
  });

  it.each([
    ["what fits", "Read", { path: "a", offset: 3, limit: 4 }],
    ["text that is not a number", "Read", { path: "a", limit: "5 lines" }],
    ["null for what is required", "Read", { path: null }],
    ["a name that is taken", "Read", { path: "a", file_path: "b" }],
    ["JSON text where a text is wanted", "Write", { path: "a.json", content: '{"x":1}' }],
  ])("leaves %s unchanged", (_title, tool, sent) => {
    expect(fitArguments(sent, schemaOf(tool))).toBe(sent);
  });

  it("leaves further keys alone if the schema accepts any key", () => {
    const schema = { type: "object", properties: { path: { type: "string" } }, additionalProperties: true };
    const sent = { file_path: "a" };
    expect(fitArguments(sent, schema)).toBe(sent);
  });

  it("sets no prototype from a model's arguments", () => {
    const sent = JSON.parse('{"__proto__":{"path":"x"},"file_path":"a"}') as Record<string, unknown>;
    const fitted = fitArguments(sent, schemaOf("Read"));
    expect(Object.getPrototypeOf(fitted)).toBe(Object.prototype);
    expect(fitted["path"]).toBe("a");
  });
});

describe("a tool is found by the names that models use", () => {
  it.each([
    ["functions.Read", "Read"],
    ["default_api:Read", "Read"],
    ["read-file", "Read"],
    ["ReadFile", "Read"],
    ["BASH", "Bash"],
    ["listFiles", "list_files"],
  ])("%s is %s", (name, tool) => expect(toolbox.find(name)?.name).toBe(tool));

  it("an unknown name finds no tool, and the nearest is suggested", () => {
    expect(toolbox.find("ReadEverything")).toBeUndefined();
    expect(toolbox.nearest("bash_command")).toBe("Bash");
    expect(toolbox.nearest("zz")).toBeUndefined();
  });
});

describe("calls in a model's text", () => {
  const read = { name: "Read", args: '{"path":"a.txt"}' };
  it.each([
    ["an object", '{"name": "Read", "arguments": {"path":"a.txt"}}', [read]],
    ["an object with parameters", '{"tool": "Read", "parameters": {"path":"a.txt"}}', [read]],
    ["an object in a fence", '```json\n{"name": "Read", "arguments": {"path":"a.txt"}}\n```', [read]],
    ["a list", '[{"name": "Read", "arguments": {"path":"a.txt"}}]', [read]],
    [
      "one a line",
      '{"name":"Read","arguments":{"path":"a.txt"}}\n{"name":"Read","arguments":{"path":"a.txt"}}',
      [read, read],
    ],
    ["marks", '<tool_call>\n{"name": "Read", "arguments": {"path":"a.txt"}}\n</tool_call>', [read]],
    [
      "two marks",
      '<tool_call>{"name":"Read","arguments":{"path":"a.txt"}}</tool_call> <tool_call>{"name":"Read","arguments":{"path":"a.txt"}}</tool_call>',
      [read, read],
    ],
    ["a function element", "<function=Read>\n<parameter=path>\na.txt\n</parameter>\n</function>", [read]],
    [
      "a function element in marks",
      "<tool_call>\n<function=Read>\n<parameter=path>a.txt</parameter>\n</function>\n</tool_call>",
      [read],
    ],
    ["arguments as text", '{"name": "Read", "arguments": "{\\"path\\":\\"a.txt\\"}"}', [read]],
    [
      "the form of the chat wire",
      '{"type":"function","function":{"name":"Read","arguments":{"path":"a.txt"}}}',
      [read],
    ],
  ])("%s", (_title, text, calls) => expect(callsInText(text, toolbox)).toEqual(calls));

  it.each([
    ["words around a call", 'I would call {"name":"Read","arguments":{"path":"a"}}'],
    ["JSON that names no tool", '{"name": "Alice", "arguments": {"x": 1}}'],
    ["JSON without arguments", '{"name": "Read"}'],
    ["half a call", '{"name": "Read", "arguments": {"path": "a'],
    ["half a mark", '<tool_call>{"name":"Read","arguments":{"path":"a"}}'],
    ["an element of a page", "<p>Read</p>"],
    ["an empty list", "[]"],
    ["a very long text", `{"name":"Read","arguments":{"path":"${"a".repeat(300_000)}"}}`],
  ])("%s stays an answer", (_title, text) => expect(callsInText(text, toolbox)).toEqual([]));

  it("reads hostile text in linear time", () => {
    for (const text of [
      "<tool_call>".repeat(20_000),
      `<function=${"<parameter=a>".repeat(15_000)}`,
      "[".repeat(200_000),
      "```\n".repeat(50_000),
    ]) {
      const started = performance.now();
      expect(callsInText(text, toolbox)).toEqual([]);
      expect(performance.now() - started).toBeLessThan(1000);
    }
  });
});
