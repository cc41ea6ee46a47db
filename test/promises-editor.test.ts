// Editors over standard ACP v1: what is advertised, sessions, updates, settings.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { allowOnce, ofKind, rejectOnce, startEditor } from "./editor.js";
import { scratchTree } from "./scratch.js";

const say = (text: string) => ({ steps: [{ reply: [{ text }] }] });
const call = (tool: string, args: object) => ({
  steps: [{ reply: [{ call: tool, args }] }, { reply: [{ text: "Done." }] }],
});
const write = (path: string) => call("Write", { path, content: "x" });
const bash = (command: string) => call("Bash", { command });

test("capabilities are advertised", async () => {
  const editor = await startEditor();
  expect(editor.hello.agentCapabilities).toMatchObject({
    loadSession: true,
    promptCapabilities: { embeddedContext: true },
    mcpCapabilities: { http: true, sse: false },
    sessionCapabilities: { list: {}, fork: {}, close: {}, resume: {} },
  });
  expect((await editor.request("authenticate", { methodId: editor.hello.authMethods[0].id })).result).toEqual({});
});

test("what the server itself cannot do is -32603, with what went wrong, and the connection lives on", async () => {
  const home = scratchTree({ eventlog: "a file where the logs belong" });
  const editor = await startEditor({ home });
  const asked = { cwd: editor.program.cwd, mcpServers: [] };
  const { error, result } = await editor.request("session/new", asked);
  expect(result).toBeUndefined();
  expect(error).toMatchObject({ code: -32603, data: { message: expect.stringContaining("ENOTDIR") } });
  rmSync(join(home, "eventlog"));
  expect((await editor.request("session/new", asked)).result.sessionId).toMatch(/^otter-/);
});

test("a new session tells its modes, options and model", async () => {
  const editor = await startEditor({ clientCapabilities: { session: { configOptions: { boolean: {} } } } });
  const session = await editor.open();
  expect(session.modes.currentModeId).toBe("review");
  expect(session.modes.availableModes.map((mode: { id: string }) => mode.id)).toEqual(["auto", "review", "read-only"]);
  const options = Object.fromEntries(session.configOptions.map((row: { id: string }) => [row.id, row]));
  expect(options["model"]).toMatchObject({ category: "model", currentValue: "offline", options: expect.any(Array) });
  for (const id of ["auto_approve_writes", "auto_approve_execute", "read_only"]) {
    expect(options[id]).toMatchObject({ type: "boolean", currentValue: false });
  }
});

test("the commands are known before the first prompt, which may be one of them", async () => {
  const editor = await startEditor();
  const { sessionId } = await editor.open();
  const list = await editor.find((frame) => frame.params?.update?.sessionUpdate === "available_commands_update");
  const names = list.params.update.availableCommands.map((row: { name: string }) => row.name);
  expect(names).toEqual(expect.arrayContaining(["model", "clear", "undo"]));
  const { updates } = await editor.prompt(sessionId, "/model");
  expect(ofKind(updates, "agent_message_chunk")[0].content.text).toBe("model: offline");
  expect(ofKind(updates, "available_commands_update")).toEqual([]);
});

test("a command that prints and waits shows what it printed; then its call is in progress", async () => {
  const editor = await startEditor({ turns: [bash("echo first; sleep 0.6; echo second")] });
  const { sessionId } = await editor.open();
  const { updates } = await editor.prompt(sessionId, "run it");
  expect(ofKind(updates, "tool_call")[0]).toMatchObject({ status: "pending", name: "Bash" });
  const calls = ofKind(updates, "tool_call_update");
  expect(calls[0].status).toBe("in_progress");
  const texts = calls.map((update) => update.content?.[0]?.content?.text).filter(Boolean);
  expect(texts[0]).toBe("```\nfirst\n```");
  expect(texts.at(-1)).toContain("second");
});

test("a picture that was read is shown as a picture", async () => {
  const editor = await startEditor({ turns: [call("Read", { path: "dot.png" })] });
  const { sessionId } = await editor.open();
  const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  writeFileSync(join(editor.program.cwd, "dot.png"), Buffer.from(dot, "base64"));
  const { updates } = await editor.prompt(sessionId, "look at it");
  const shown = ofKind(updates, "tool_call_update").flatMap((update) => update.content ?? []);
  expect(shown).toContainEqual({ type: "content", content: { type: "image", mimeType: "image/png", data: dot } });
});

describe("a turn", () => {
  const turns = [
    {
      steps: [
        {
          reply: [
            { thought: "Hm." },
            { text: "Let me look." },
            { call: "Read", args: { path: "README.md" } },
            { usage: { input: 1200, output: 40, cacheRead: 800 } },
          ],
        },
        { reply: [{ call: "Read", args: { path: "missing.txt" } }] },
        { reply: [{ text: "A workspace it is." }] },
      ],
    },
    say("Again."),
  ];

  test("streams thoughts, calls, plan, usage and title", async () => {
    const editor = await startEditor({ turns });
    const { sessionId } = await editor.open();
    const { result, updates } = await editor.prompt(sessionId, "look around");
    expect(result.stopReason).toBe("end_turn");
    expect(result.usage).toMatchObject({ inputTokens: expect.any(Number), outputTokens: expect.any(Number) });
    expect(ofKind(updates, "agent_thought_chunk")[0].content).toEqual({ type: "text", text: "Hm." });

    const plans = ofKind(updates, "plan").map((plan) => plan.entries.map((entry: { status: string }) => entry.status));
    expect(plans).toEqual([["in_progress"], ["completed"], ["completed", "in_progress"], ["completed", "in_progress"]]);
    const calls = ofKind(updates, "tool_call");
    expect(calls).toHaveLength(2);
    const ends = ofKind(updates, "tool_call_update").filter((update) => /completed|failed/.test(update.status));
    expect(ends.map((update) => update.status)).toEqual(["completed", "failed"]);

    const usage = ofKind(updates, "usage_update");
    expect(usage.length).toBeGreaterThanOrEqual(1);
    expect(usage[0]).toMatchObject({ used: expect.any(Number), size: expect.any(Number), cost: { currency: "USD" } });
    expect(ofKind(updates, "session_info_update")[0].title).toBe("Let me look.");
  });

  test("what is embedded reaches the model", async () => {
    const seen = [{ steps: [{ expect: { prompt: "embedded secret" }, reply: [{ text: "I saw it." }] }] }];
    const editor = await startEditor({ turns: seen });
    const { sessionId } = await editor.open();
    const resource = { uri: "file:///x/notes.md", mimeType: "text/markdown", text: "an embedded secret" };
    const { result, updates } = await editor.prompt(sessionId, [
      { type: "text", text: "what does it say?" },
      { type: "resource", resource },
    ]);
    expect(result?.stopReason).toBe("end_turn");
    expect(JSON.stringify(updates)).toContain("I saw it.");
  });

  test("session/cancel ends it", async () => {
    const editor = await startEditor({ turns: [{ steps: [{ reply: [{ text: "…" }, { stall: true }] }] }] });
    const { sessionId } = await editor.open();
    const turn = editor.prompt(sessionId, "think");
    await editor.find((frame) => frame.params?.update?.sessionUpdate === "agent_message_chunk");
    editor.notify("session/cancel", { sessionId });
    expect((await turn).result.stopReason).toBe("cancelled");
  });

  test("a second prompt waits for the first", async () => {
    const editor = await startEditor({ turns: [say("First."), say("Second.")] });
    const { sessionId } = await editor.open();
    const both = await Promise.all([editor.prompt(sessionId, "one"), editor.prompt(sessionId, "two")]);
    expect(both.map(({ result }) => result.stopReason)).toEqual(["end_turn", "end_turn"]);
    const chunks = editor.frames
      .filter((frame) => frame.params?.update?.sessionUpdate === "agent_message_chunk")
      .map((frame) => frame.params.update.content.text);
    expect(chunks.join("")).toBe("First.Second.");
  });
});

describe("sessions", () => {
  test("are listed, loaded with their history, resumed without it", async () => {
    const editor = await startEditor({ turns: [say("A fine title.")] });
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "hello");
    const { sessions } = (await editor.request("session/list", {})).result;
    expect(sessions).toContainEqual(
      expect.objectContaining({ sessionId, cwd: editor.program.cwd, title: "A fine title." }),
    );
    await editor.request("session/close", { sessionId });

    const seen = editor.frames.length;
    const params = { sessionId, cwd: editor.program.cwd, mcpServers: [] };
    const { result } = await editor.request("session/load", params);
    expect(result).toMatchObject({ modes: { currentModeId: "review" }, configOptions: expect.any(Array) });
    const replayed = editor.frames.slice(seen).flatMap((frame) => frame.params?.update?.sessionUpdate ?? []);
    expect(replayed).toEqual(expect.arrayContaining(["user_message_chunk", "agent_message_chunk"]));
    await editor.request("session/close", { sessionId });

    const before = editor.frames.length;
    expect((await editor.request("session/resume", params)).error).toBeUndefined();
    const again = editor.frames.slice(before).flatMap((frame) => frame.params?.update?.sessionUpdate ?? []);
    expect(again).not.toContain("agent_message_chunk");
    const unknown = { ...params, sessionId: "otter-20260101T000000-00000000" };
    expect((await editor.request("session/load", unknown)).error?.code).toBe(-32002);
  });

  test("fork at a turn, with its parent's settings", async () => {
    const editor = await startEditor({ turns: [say("One."), say("Two.")] });
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "first");
    await editor.prompt(sessionId, "second");
    await editor.request("session/set_mode", { sessionId, modeId: "auto" });
    const { result, error } = await editor.request("session/fork", {
      sessionId,
      cwd: editor.program.cwd,
      mcpServers: [],
      _meta: { "chimera.dev/messageIndex": 0 },
    });
    expect(error).toBeUndefined();
    expect(result.sessionId).not.toBe(sessionId);
    expect(result.modes.currentModeId).toBe("auto");
    const seen = editor.frames.length;
    const params = { sessionId: result.sessionId, cwd: editor.program.cwd, mcpServers: [] };
    await editor.request("session/load", params);
    const history = JSON.stringify(editor.frames.slice(seen));
    expect(history).toContain("One.");
    expect(history).not.toContain("Two.");
  });

  test("closing cancels, waits, and forgets the settings", async () => {
    const editor = await startEditor({ turns: [{ steps: [{ reply: [{ text: "…" }, { stall: true }] }] }] });
    const { sessionId } = await editor.open();
    await editor.request("session/set_mode", { sessionId, modeId: "auto" });
    const turn = editor.prompt(sessionId, "think");
    await editor.find((frame) => frame.params?.update?.sessionUpdate === "agent_message_chunk");
    const closed = await editor.request("session/close", { sessionId });
    expect(closed.error).toBeUndefined();
    const reply = await turn;
    expect(reply.result?.stopReason).toBe("cancelled");
    const params = { sessionId, cwd: editor.program.cwd, mcpServers: [] };
    expect((await editor.request("session/load", params)).result.modes.currentModeId).toBe("review");
    expect(existsSync(join(editor.program.home, "config.json"))).toBe(false);
  });
});

describe("modes and options", () => {
  const bool = { session: { configOptions: { boolean: {} } } };
  const flags = (options: { id: string; currentValue: unknown }[]) =>
    ["auto_approve_writes", "auto_approve_execute", "read_only"].map(
      (id) => options.find((option) => option.id === id)?.currentValue,
    );

  const modes: [mode: string, expected: boolean[]][] = [
    ["auto", [true, true, false]],
    ["review", [false, false, false]],
    ["read-only", [false, false, true]],
  ];
  test.each(modes)("%s writes all three flags", async (modeId, expected) => {
    const editor = await startEditor({ clientCapabilities: bool });
    const { sessionId } = await editor.open();
    await editor.request("session/set_mode", { sessionId, modeId: modeId === "review" ? "auto" : "review" });
    expect((await editor.request("session/set_mode", { sessionId, modeId })).error).toBeUndefined();
    const update = await editor.find(
      (frame) =>
        frame.params?.update?.sessionUpdate === "current_mode_update" && frame.params.update.currentModeId === modeId,
    );
    expect(update.params.sessionId).toBe(sessionId);
    const { result } = await editor.request("session/resume", { sessionId, cwd: editor.program.cwd, mcpServers: [] });
    expect(flags(result.configOptions)).toEqual(expected);
    expect(result.modes.currentModeId).toBe(modeId);
  });

  const derived: [set: [string, boolean][], mode: string][] = [
    [[["auto_approve_writes", true]], "review"],
    [[["auto_approve_execute", true]], "review"],
    [
      [
        ["auto_approve_writes", true],
        ["auto_approve_execute", true],
      ],
      "auto",
    ],
    [
      [
        ["auto_approve_writes", true],
        ["auto_approve_execute", true],
        ["read_only", true],
      ],
      "read-only",
    ],
  ];
  test.each(derived)("%j shows as %s", async (set, mode) => {
    const editor = await startEditor({ clientCapabilities: bool });
    const { sessionId } = await editor.open();
    for (const [configId, value] of set) {
      const { error } = await editor.request("session/set_config_option", {
        sessionId,
        configId,
        type: "boolean",
        value,
      });
      expect(error).toBeUndefined();
      await editor.find(
        (frame) =>
          frame.params?.update?.sessionUpdate === "config_option_update" &&
          frame.params.update.configOptions.some(
            (option: { id: string; currentValue: unknown }) => option.id === configId && option.currentValue === value,
          ),
      );
    }
    const { result } = await editor.request("session/resume", { sessionId, cwd: editor.program.cwd, mcpServers: [] });
    expect(result.modes.currentModeId).toBe(mode);
    const wanted = new Map(set);
    expect(flags(result.configOptions)).toEqual(
      ["auto_approve_writes", "auto_approve_execute", "read_only"].map((id) => wanted.get(id) ?? false),
    );
  });

  const effects: [what: string, mode: string, asks: boolean, happens: boolean][] = [
    ["set", "auto", false, true],
    ["set", "review", true, false],
    ["set", "read-only", false, false],
  ];
  test.each(effects)("%s in %s, writes and commands: asked %s, done %s", async (_ids, modeId, asks, happens) => {
    const answers = { "session/request_permission": rejectOnce };
    const editor = await startEditor({ turns: [write("note.txt"), bash("touch made.txt")], answers });
    const { sessionId } = await editor.open();
    await editor.request("session/set_mode", { sessionId, modeId });
    await editor.prompt(sessionId, "write");
    await editor.prompt(sessionId, "run");
    expect(editor.asked("session/request_permission")).toHaveLength(asks ? 2 : 0);
    for (const name of ["note.txt", "made.txt"]) expect(existsSync(join(editor.program.cwd, name))).toBe(happens);
  });

  const options: [what: string, option: string, asked: string[]][] = [
    ["set", "auto_approve_writes", ["execute"]],
    ["set", "auto_approve_execute", ["edit"]],
    ["set", "read_only", []],
  ];
  test.each(options)("%s with %s, %j is asked for", async (_ids, configId, asked) => {
    const answers = { "session/request_permission": rejectOnce };
    const turns = [write("note.txt"), bash("touch made.txt")];
    const editor = await startEditor({ turns, answers, clientCapabilities: bool });
    const { sessionId } = await editor.open();
    await editor.request("session/set_config_option", { sessionId, configId, type: "boolean", value: true });
    await editor.prompt(sessionId, "write");
    await editor.prompt(sessionId, "run");
    expect(editor.asked("session/request_permission").map(({ toolCall }) => toolCall.kind)).toEqual(asked);
    expect(existsSync(join(editor.program.cwd, "note.txt"))).toBe(configId === "auto_approve_writes");
    expect(existsSync(join(editor.program.cwd, "made.txt"))).toBe(configId === "auto_approve_execute");
  });
});

test("a change in the middle of a turn holds from its next call on", async () => {
  const steps = ["a.txt", "b.txt"].map((path) => ({ reply: [{ call: "Write", args: { path, content: "x" } }] }));
  const editor = await startEditor({
    turns: [{ steps: [...steps, { reply: [{ text: "Done." }] }] }],
    answers: {
      "session/request_permission": async (asked) => {
        await editor.request("session/set_mode", { sessionId: asked.sessionId, modeId: "auto" });
        return allowOnce(asked);
      },
    },
  });
  const { sessionId } = await editor.open();
  await editor.prompt(sessionId, "write both");
  expect(editor.asked("session/request_permission")).toHaveLength(1);
  for (const name of ["a.txt", "b.txt"]) expect(existsSync(join(editor.program.cwd, name))).toBe(true);
});

test("a turn over ACP is taken back and brought again", async () => {
  const editor = await startEditor({ turns: [write("README.md"), say("Done.")] });
  const { sessionId } = await editor.open();
  const read = () => readFileSync(join(editor.program.cwd, "README.md"), "utf8");
  const before = read();
  await editor.prompt(sessionId, "write");
  expect(read()).toBe("x");
  const { result } = await editor.request("_chimera.dev/session/undo", { sessionId });
  expect(result).toMatchObject({
    turns: 1,
    remaining: 0,
    message: "/undo: rewound 1 turn, 1 file restored (0 remaining)",
  });
  expect(read()).toBe(before);
  await editor.prompt(sessionId, "/redo");
  expect(read()).toBe("x");
});

test("permission is asked for before the tool runs, with a way to allow", async () => {
  let existed: boolean | undefined;
  const editor = await startEditor({
    turns: [write("note.txt")],
    answers: {
      "session/request_permission": ({ options }) => {
        existed = existsSync(join(editor.program.cwd, "note.txt"));
        return { outcome: { outcome: "selected", optionId: options[0].optionId } };
      },
    },
  });
  const { sessionId } = await editor.open();
  await editor.prompt(sessionId, "write");
  expect(existed).toBe(false);
  const [asked] = editor.asked("session/request_permission");
  expect(asked).toMatchObject({ sessionId, toolCall: { toolCallId: expect.any(String) } });
  expect(asked.options.map((option: { kind: string }) => option.kind)).toEqual(
    expect.arrayContaining(["allow_once", "allow_always", "reject_once"]),
  );
  expect(readFileSync(join(editor.program.cwd, "note.txt"), "utf8")).toBe("x");
});

test("the model is chosen per session, by either method", async () => {
  const editor = await startEditor();
  const [first, second] = [await editor.open(), await editor.open()];
  const modelOf = async (sessionId: string) => {
    const params = { sessionId, cwd: editor.program.cwd, mcpServers: [] };
    const { configOptions } = (await editor.request("session/resume", params)).result;
    return configOptions.find((option: { id: string }) => option.id === "model").currentValue;
  };
  const { sessionId } = first;
  const chosen = await editor.request("session/set_config_option", {
    sessionId,
    configId: "model",
    value: "claude-sonnet-4-6",
  });
  expect(chosen.error).toBeUndefined();
  expect(await modelOf(sessionId)).toBe("claude-sonnet-4-6");
  expect(await modelOf(second.sessionId)).toBe("offline");
  expect((await editor.request("session/set_model", { sessionId, modelId: "gpt-5.2" })).error).toBeUndefined();
  expect(await modelOf(sessionId)).toBe("gpt-5.2");
});
