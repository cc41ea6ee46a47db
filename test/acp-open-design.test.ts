// The program under a client that behaves as Open Design's daemon does: a probe, a run with permissions, a cancel that is a
// request, and a kill.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Editor, launch } from "./clients/editor.js";
import { repositoryRoot } from "./scratch.js";

const script = {
  repeat: true,
  turns: [
    {
      steps: [
        {
          reply: [
            { thought: "I shall write." },
            { call: "Write", args: { path: "page.html", content: "<h1>hi</h1>" } },
          ],
        },
        { reply: [{ text: "Written.", chunks: 3 }, { usage: { input: 100, output: 20, cacheRead: 5 } }] },
      ],
    },
    { steps: [{ reply: [{ text: "and on ".repeat(400), chunks: 400, delayMs: 20 }] }] },
  ],
};

interface Option {
  readonly id: string;
  readonly type?: string;
  readonly category?: string;
  readonly currentValue: string;
  readonly options: readonly { readonly value: string; readonly name: string }[];
}

function daemon(program: "otter" | "ferret"): Editor {
  const args = program === "ferret" ? ["--sandbox", "off", "--approval", "auto"] : [];
  const editor = launch(program, { script, args });
  onTestFinished(() => editor.dispose());
  // It approves for the session where it can, else always, else once; no such option fails its run.
  editor.answer(({ method, params }) => {
    if (method !== "session/request_permission") return undefined;
    const options = params.options as { optionId: string; kind: string }[];
    const chosen = ["allow_always", "allow_once"].flatMap((kind) => options.find((one) => one.kind === kind) ?? [])[0];
    return { outcome: { outcome: "selected", optionId: chosen!.optionId } };
  });
  return editor;
}

const hello = (name: string) => ({
  protocolVersion: 1,
  clientCapabilities: { terminal: false },
  clientInfo: { name, version: "runtime-adapter" },
});

/** Servers as the daemon writes them: with a type, and variables as a map. */
const mcpServers = [
  { type: "stdio", name: "design", command: process.execPath, args: ["-e", ""], env: { TOKEN: "x" } },
];

async function open(editor: Editor, servers: readonly object[] = []) {
  await editor.request("initialize", hello("open-design"));
  const { result } = await editor.request("session/new", { cwd: editor.cwd, mcpServers: servers });
  const model = (result.configOptions as Option[]).find((option) => option.category === "model")!;
  return { sessionId: result.sessionId as string, model };
}

describe.each(["otter", "ferret"] as const)("%s", (program) => {
  test("--version answers one line, without starting anything", () => {
    const cli = join(repositoryRoot, "apps", program, "dist", "cli.js");
    const { status, stdout } = spawnSync(process.execPath, [cli, "--version"], { encoding: "utf8" });
    expect([status, stdout]).toEqual([0, expect.stringMatching(new RegExp(`^${program} \\d+\\.\\d+\\.\\d+\\n$`))]);
  });

  test("a probe reads the models from session/new and ends the process with SIGTERM", async () => {
    const editor = daemon(program);
    expect((await editor.request("initialize", hello("open-design-detect"))).result).toBeTypeOf("object");
    const { result } = await editor.request("session/new", { cwd: editor.cwd, mcpServers: [] });
    const model = (result.configOptions as Option[]).find((option) => option.category === "model");
    expect(model?.options.map(({ value }) => value)).toContain(model?.currentValue);
    editor.child.kill("SIGTERM");
    expect(await editor.exited).toBe(0);
  });

  test("a run: model chosen, permission given, thoughts, text and usage read, stdin closed", async () => {
    const editor = daemon(program);
    const { sessionId, model } = await open(editor, mcpServers);
    const value = model.currentValue;
    const chosen = await editor.request("session/set_config_option", { sessionId, configId: model.id, value });
    expect(chosen.result).toBeTypeOf("object");
    expect((await editor.request("session/set_model", { sessionId, modelId: value })).result).toEqual({});
    const prompt = [
      { type: "text", text: "make a page" },
      // The client sends a bare path, and no name.
      { type: "resource_link", uri: join(editor.cwd, "README.md"), mimeType: "text/markdown" },
    ];
    const { result } = await editor.request("session/prompt", { sessionId, prompt });
    expect(result.usage).toMatchObject({
      inputTokens: expect.any(Number),
      outputTokens: 20,
      totalTokens: expect.any(Number),
    });
    const updates = editor.frames
      .filter((frame) => frame.method === "session/update")
      .map((frame) => frame.params.update);
    const kinds = updates.map((update) => update.sessionUpdate);
    expect(kinds).toContain("agent_thought_chunk");
    const call = updates.find((update) => update.sessionUpdate === "tool_call");
    expect(call).toMatchObject({ kind: "edit", locations: [{ path: join(editor.cwd, "page.html") }] });
    const text = updates
      .filter((update) => update.sessionUpdate === "agent_message_chunk")
      .map((one) => one.content.text);
    // Text that is not the model's is quoted before it.
    expect(text.join("")).toMatch(/^\n\n> \*\*Warning:\*\* The MCP server .*\n\nWritten\.$/);
    editor.child.stdin.end();
    expect(await editor.exited).toBe(0);
  });

  test("a cancel is a request with an id, after which stdin closes and SIGTERM follows", async () => {
    const editor = daemon(program);
    const { sessionId } = await open(editor);
    await editor.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "make a page" }] });
    const running = editor.start("session/prompt", { sessionId, prompt: [{ type: "text", text: "go on" }] });
    await editor.find((frame) => frame.params?.update?.content?.text === "and on ");
    const cancel = editor.start("session/cancel", { sessionId });
    editor.child.stdin.end();
    expect((await running.answer).result.stopReason).toBe("cancelled");
    expect((await cancel.answer).result).toEqual({});
    editor.child.kill("SIGTERM");
    expect([0, null]).toContain(await editor.exited);
  });
});
