// The parts that an editor lends an agent: its files, its terminal, its MCP servers.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ofKind, startEditor } from "./editor.js";
import { fileScope, startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

const call = (tool: string, args: object, expected: object = {}) => ({
  steps: [
    { ...(Object.keys(expected).length > 0 && { expect: expected }), reply: [{ call: tool, args }] },
    { reply: [{ text: "Done." }] },
  ],
});
const outputOf = (updates: object[]) => JSON.stringify(updates);

describe("files", () => {
  const turns = [call("Read", { path: "README.md" }), call("Write", { path: "note.txt", content: "from the agent" })];

  test("reads and writes go through the editor that offers them", async () => {
    const buffers = new Map<string, string>();
    const editor = await startEditor({
      turns,
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
      answers: {
        "fs/read_text_file": () => ({ content: "unsaved in the editor\n" }),
        "fs/write_text_file": ({ path, content }) => {
          buffers.set(path, content);
          return {};
        },
      },
    });
    const { sessionId } = await editor.open();
    const { updates } = await editor.prompt(sessionId, "read");
    expect(outputOf(updates)).toContain("unsaved in the editor");
    await editor.prompt(sessionId, "write");
    const path = join(editor.program.cwd, "note.txt");
    expect(buffers.get(path)).toBe("from the agent");
    expect(existsSync(path)).toBe(false);
  });

  test("an editor that offers nothing is asked for nothing", async () => {
    const editor = await startEditor({ turns });
    const { sessionId } = await editor.open();
    const { updates } = await editor.prompt(sessionId, "read");
    expect(outputOf(updates)).toContain("A workspace");
    await editor.prompt(sessionId, "write");
    expect(readFileSync(join(editor.program.cwd, "note.txt"), "utf8")).toBe("from the agent");
    expect(editor.frames.some((frame) => /^(fs|terminal)\//.test(frame.method ?? ""))).toBe(false);
  });
});

describe("the terminal", () => {
  const terminal = (args: object) => call("acp_terminal", args, { tools: ["acp_terminal"] });
  const answers = (exit: () => unknown) => ({
    "terminal/create": () => ({ terminalId: "term-1" }),
    "terminal/wait_for_exit": exit,
    "terminal/output": () => ({ output: "what the pane shows", truncated: false }),
    "terminal/release": () => ({}),
    "terminal/kill": () => ({}),
  });
  const methods = (editor: { frames: { method?: string }[] }) =>
    editor.frames.flatMap((frame) => (frame.method?.startsWith("terminal/") ? [frame.method] : []));

  // A minute is waited for in full, from the start of the file, while the other tests run.
  const atEnd = fileScope();
  let minute: Promise<{ took: number; output: string; seen: string[] }>;
  beforeAll(() => {
    minute = (async () => {
      const editor = await startEditor({
        turns: [terminal({ command: "sleep", args: ["1000"] })],
        clientCapabilities: { terminal: true },
        answers: answers(() => undefined),
        atEnd,
      });
      const { sessionId } = await editor.open();
      const started = performance.now();
      const { updates } = await editor.prompt(sessionId, "wait");
      return { took: performance.now() - started, output: outputOf(updates), seen: methods(editor) };
    })();
  });

  test("a command runs in the editor's pane, with its own cwd and env", async () => {
    const args = { command: "npm", args: ["test"], cwd: "src", env: { CI: "1" } };
    const editor = await startEditor({
      turns: [terminal(args)],
      clientCapabilities: { terminal: true },
      answers: answers(() => ({ exitCode: 0, signal: null })),
    });
    const { sessionId } = await editor.open();
    const { updates, result } = await editor.prompt(sessionId, "test");
    expect(result.stopReason).toBe("end_turn");
    expect(methods(editor)).toEqual([
      "terminal/create",
      "terminal/wait_for_exit",
      "terminal/output",
      "terminal/release",
    ]);
    const [created] = editor.asked("terminal/create");
    expect(created).toMatchObject({
      sessionId,
      cwd: join(editor.program.cwd, "src"),
      env: [{ name: "CI", value: "1" }],
    });
    expect([created.command, ...(created.args ?? [])].join(" ")).toContain("npm");
    expect(outputOf(updates)).toContain("what the pane shows");
  });

  const timedOut = [
    "terminal/create",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/output",
    "terminal/release",
  ];

  test("one that outlasts its time is killed and released", async () => {
    const editor = await startEditor({
      turns: [terminal({ command: "sleep", args: ["100"], timeout: 0.5 })],
      clientCapabilities: { terminal: true },
      answers: answers(() => undefined),
    });
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "wait");
    expect(methods(editor)).toEqual(timedOut);
  });

  test("without one the tool is absent, and the local shell is used", async () => {
    const editor = await startEditor({
      turns: [call("Bash", { command: "printf local > shell.txt" }), call("acp_terminal", { command: "ls" })],
    });
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "run");
    expect(readFileSync(join(editor.program.cwd, "shell.txt"), "utf8")).toBe("local");
    const { updates } = await editor.prompt(sessionId, "terminal");
    expect(outputOf(updates)).toContain("failed");
    expect(methods(editor)).toEqual([]);
  });

  test("without a time of its own that is after 60 s", async () => {
    const { took, output, seen } = await minute;
    expect(took).toBeGreaterThanOrEqual(60_000);
    expect(took).toBeLessThan(90_000);
    expect(output).toContain("timed out after 60 s");
    expect(seen).toEqual(timedOut);
  }, 120_000);
});

describe("MCP servers", () => {
  /** Answers as a server with one tool; says in a file when it starts and ends. */
  const program = `
    import { appendFileSync } from "node:fs";
    import { createInterface } from "node:readline";
    const log = process.argv[2];
    appendFileSync(log, "started\\n");
    const reply = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === "initialize") reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } });
      else if (method === "tools/list") reply(id, { tools: [{ name: "shout", description: "Shouts", inputSchema: { type: "object" } }] });
      else if (method === "tools/call") reply(id, { content: [{ type: "text", text: "SHOUTED OVER STDIO" }] });
    }).on("close", () => { appendFileSync(log, "ended\\n"); process.exit(0); });
  `;
  const turns = [call("mcp__t__shout", {}), { steps: [{ reply: [{ text: "Bye." }] }] }];

  test("over stdio: started for the session, ended with it", async () => {
    const dir = scratchTree({ "server.mjs": program, log: "" });
    const log = () => readFileSync(join(dir, "log"), "utf8");
    const server = { name: "t", command: process.execPath, args: [join(dir, "server.mjs"), join(dir, "log")], env: [] };
    const editor = await startEditor({ turns });
    const { sessionId } = await editor.open({ mcpServers: [server] });
    const { updates } = await editor.prompt(sessionId, "shout");
    expect(outputOf(updates)).toContain("SHOUTED OVER STDIO");
    expect(log()).toBe("started\n");
    await editor.request("session/close", { sessionId });
    await expect.poll(log).toBe("started\nended\n");

    const other = await editor.open();
    expect(outputOf((await editor.prompt(other.sessionId, "shout")).updates)).not.toContain("SHOUTED");
  });

  test("chat --mcp starts the servers of a file, for as long as the conversation lasts", async () => {
    const dir = scratchTree({ "server.mjs": program, log: "", "script.json": { turns } });
    const args = [join(dir, "server.mjs"), join(dir, "log")];
    const file = scratchTree({ "mcp.json": { mcpServers: { t: { command: process.execPath, args } } } });
    const home = scratchTree({ "config.json": { safety: { require_approval_for_execute: false } } });
    const typed = ["chat", "--mcp", join(file, "mcp.json"), "--model", `scripted:${dir}/script.json`];
    const { child, exited } = startProgram("otter", typed, {}, { home });
    const said = text(child.stdout);
    child.stdin.end("shout\n");
    expect(await exited).toBe(0);
    expect(await said).toContain("✓ t: shout");
    expect(readFileSync(join(dir, "log"), "utf8")).toBe("started\nended\n");
  });

  test("over HTTP", async () => {
    const http = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      const { id, method, params } = body ? JSON.parse(body) : {};
      const results: Record<string, unknown> = {
        initialize: {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "t", version: "1" },
        },
        "tools/list": { tools: [{ name: "shout", description: "Shouts", inputSchema: { type: "object" } }] },
        "tools/call": { content: [{ type: "text", text: "SHOUTED OVER HTTP" }] },
      };
      if (id === undefined) response.writeHead(request.method === "POST" ? 202 : 405).end();
      else
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] }));
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
    const editor = await startEditor({ turns });
    const { sessionId } = await editor.open({ mcpServers: [{ type: "http", name: "t", url, headers: [] }] });
    expect(outputOf((await editor.prompt(sessionId, "shout")).updates)).toContain("SHOUTED OVER HTTP");
  });

  test("over SSE is skipped with a warning, and the session is there", async () => {
    const editor = await startEditor({ turns: [{ steps: [{ reply: [{ text: "Still here." }] }] }] });
    const server = { type: "sse", name: "old", url: "http://127.0.0.1:9/sse", headers: [] };
    const { sessionId } = await editor.open({ mcpServers: [server] });
    const { result, updates } = await editor.prompt(sessionId, "hello");
    expect(result.stopReason).toBe("end_turn");
    expect(outputOf(updates)).toContain("Still here.");
    // This client knows no notices: the warning is a message of its own, and on stderr.
    const texts = ofKind(updates, "agent_message_chunk").map((update) => update.content.text);
    expect(texts).toContainEqual(expect.stringMatching(/^\n\n> \*\*Warning:\*\* .*SSE/));
    expect(editor.program.stderr()).toMatch(/SSE/);
  });
});

test("an editor changes the listed options and nothing else", async () => {
  const editor = await startEditor({ clientCapabilities: { session: { configOptions: { boolean: {} } } } });
  const { sessionId, configOptions } = await editor.open();
  expect(configOptions.map((option: { id: string }) => option.id).toSorted()).toEqual(
    ["agent", "auto_approve_execute", "auto_approve_writes", "mode", "model", "read_only"].toSorted(),
  );
  for (const [configId, value] of Object.entries({ max_steps: 5, allowed_tools: "Read", sandbox: "off", cwd: "/" })) {
    const { error } = await editor.request("session/set_config_option", { sessionId, configId, value });
    expect(error?.code, configId).toBe(-32602);
  }
});
