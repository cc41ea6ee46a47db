// Record -> standard ACP updates, live and on replay.
import type { AgentEvent } from "@chimera/acp-schema/events";
import { describe, expect, test } from "vitest";
import { connect, everything, makeEngine, standardClient, yielding } from "./harness.js";

const call = (args: Record<string, unknown> = {}): AgentEvent => ({
  type: "tool_call",
  metadata: { call_id: "c1", tool: "Edit", args, kind: "edit", title: "Edit a", locations: [{ path: "/a", line: 3 }] },
});
const result = (fields: object): AgentEvent => ({
  type: "tool_result",
  metadata: { call_id: "c1", success: true, output: "", duration_ms: 1, ...fields },
});
const text = (value: string) => ({ type: "content", content: { type: "text", text: value } });

const rows: [string, AgentEvent, object[]][] = [
  [
    "text",
    { type: "text_delta", metadata: { text: '"quoted"},"\\ \u0000 \u{1f600}' } },
    [{ sessionUpdate: "agent_message_chunk", content: { type: "text", text: '"quoted"},"\\ \u0000 \u{1f600}' } }],
  ],
  [
    "thought",
    { type: "thought_delta", metadata: { text: "hm" } },
    [{ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" } }],
  ],
  [
    "progress",
    { type: "tool_progress", metadata: { call_id: "c1", stream: "stdout", chunk: "x" } },
    [
      {
        sessionUpdate: "tool_call_update",
        toolCallId: "c1",
        status: "in_progress",
        _meta: { "chimera.dev/output": { stream: "stdout", chunk: "x" } },
      },
    ],
  ],
  [
    "terminal",
    { type: "terminal_output", metadata: { call_id: "c1", terminal_id: "t1" } },
    [
      {
        sessionUpdate: "tool_call_update",
        toolCallId: "c1",
        status: "in_progress",
        content: [{ type: "terminal", terminalId: "t1" }],
      },
    ],
  ],
  [
    "result",
    result({ output: "done" }),
    [
      {
        sessionUpdate: "tool_call_update",
        toolCallId: "c1",
        status: "completed",
        content: [text("done")],
        rawOutput: { output: "done" },
      },
    ],
  ],
  [
    "failure",
    result({ success: false, output: "half", error: "broke" }),
    [
      {
        sessionUpdate: "tool_call_update",
        toolCallId: "c1",
        status: "failed",
        content: [text("half\nbroke")],
        rawOutput: { output: "half", error: "broke" },
      },
    ],
  ],
  [
    "diff",
    result({ content: [{ type: "diff", path: "/a", old_text: null, new_text: "b" }] }),
    [
      {
        sessionUpdate: "tool_call_update",
        toolCallId: "c1",
        status: "completed",
        content: [{ type: "diff", path: "/a", oldText: null, newText: "b" }],
        rawOutput: { output: "" },
      },
    ],
  ],
  [
    "plan",
    { type: "plan", metadata: { entries: [{ content: "x", priority: "high", status: "pending" }] } },
    [{ sessionUpdate: "plan", entries: [{ content: "x", priority: "high", status: "pending" }] }],
  ],
  [
    "notice",
    { type: "notice", metadata: { level: "warning", text: "careful" } },
    [{ sessionUpdate: "notice", severity: "warning", title: "careful" }],
  ],
  [
    "sandbox",
    { type: "sandbox_violation", metadata: { tool: "Bash", mode: "read-only", reason: "no" } },
    [{ sessionUpdate: "notice", severity: "warning", title: "Bash was stopped", description: "no" }],
  ],
  [
    "compaction",
    { type: "compaction", metadata: { summary: "short", from_turn: 1 } },
    [
      {
        sessionUpdate: "compaction_update",
        compactionId: expect.stringMatching(/^evt-/),
        status: "completed",
        summary: [{ type: "text", text: "short" }],
      },
    ],
  ],
  [
    "an edit, which the call's diff shows",
    { type: "file_edit", metadata: { path: "/a", diff: "", change: "add" } },
    [],
  ],
];

const fromAgent = ({ sessionUpdate }: { sessionUpdate: string }) =>
  !["available_commands_update", "session_info_update", "user_message_chunk"].includes(sessionUpdate);

async function shown(event: AgentEvent, capabilities: object) {
  const core = makeEngine(yielding(event));
  const client = await standardClient(core, capabilities);
  const before = client.updates().length;
  await client.prompt("go");
  const live = client.updates().slice(before + 1);
  const other = connect(core, { judged: true });
  await other.call("initialize", { protocolVersion: 1, clientCapabilities: capabilities });
  await other.call("session/load", { sessionId: client.sessionId, cwd: "/", mcpServers: [] });
  return { live, replayed: other.updates(), problems: [...client.problems(), ...other.problems()] };
}

describe("an update", () => {
  test.each(rows)("of %s, live and on replay", async (_name, event, updates) => {
    const { live, replayed, problems } = await shown(event, everything);
    expect(live.filter(fromAgent)).toMatchObject(updates);
    expect(replayed.filter(fromAgent)).toMatchObject(updates);
    expect(live.filter(fromAgent).map((update) => Object.keys(update))).toEqual(
      updates.map((update) => Object.keys(update)),
    );
    expect(problems).toEqual([]);
  });

  test("lists an engine's commands after ours, and never in place of one", async () => {
    const commands = [
      { name: "review", description: "Reviews", hint: "what" },
      { name: "undo", description: "Something else" },
    ];
    const client = await standardClient(makeEngine(yielding({ type: "commands_changed", metadata: { commands } })));
    await client.prompt("go");
    const listed = client.updates("available_commands_update").at(-1)!["availableCommands"] as { name: string }[];
    expect(listed.at(-1)).toEqual({ name: "review", description: "Reviews", input: { hint: "what" } });
    expect(listed.filter(({ name }) => name === "undo")).toMatchObject([
      { description: expect.stringContaining("Rewind") },
    ]);
  });

  test("of a warning is among the thoughts of clients that know no notices, because a person must see it", async () => {
    const seen = async (level: "info" | "warning") =>
      (await shown({ type: "notice", metadata: { level, text: "Look." } }, {})).live.filter(fromAgent);
    expect(await seen("info")).toEqual([]);
    expect(await seen("warning")).toEqual([
      { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "Look.\n" } },
    ]);
  });

  test.each(["sandbox", "compaction"])("of a %s is not sent to clients that cannot show it", async (name) => {
    const { live } = await shown(rows.find(([row]) => row === name)![1], {});
    expect(live.filter(fromAgent)).toEqual([]);
  });

  test("of a call says what it is, where it is and what it was given", async () => {
    const { live, problems } = await shown(call({ path: "/a" }), {});
    expect(live[0]).toEqual({
      sessionUpdate: "tool_call",
      toolCallId: "c1",
      title: "Edit a",
      kind: "edit",
      status: "pending",
      locations: [{ path: "/a", line: 3 }],
      rawInput: { path: "/a" },
    });
    expect(live[1]).toMatchObject({ sessionUpdate: "tool_call_update", status: "failed" });
    expect(problems).toEqual([]);
  });
});

describe("a frame stays under one MiB", () => {
  const huge = "\u0001".repeat(3_000_000);
  test.each([
    ["of text", { type: "text_delta", metadata: { text: huge } }],
    ["of arguments", call({ content: huge })],
    ["of many arguments", call({ list: Array.from({ length: 400_000 }, (_, i) => i) })],
    ["of output", result({ output: huge, error: huge })],
    ["of a diff", result({ content: [{ type: "diff", path: "/a", old_text: huge, new_text: huge }] })],
  ] as [string, AgentEvent][])("%s of megabytes", async (_, event) => {
    const core = makeEngine(yielding(event));
    const client = connect(core);
    await client.call("initialize", { protocolVersion: 1 });
    const made = await client.call("session/new", { cwd: "/", mcpServers: [] });
    const { sessionId } = made.result as unknown as { sessionId: string };
    await client.call("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
    await client.call("session/load", { sessionId, cwd: "/", mcpServers: [] });
    const sizes = client.frames.map((frame) => Buffer.byteLength(JSON.stringify(frame)));
    expect(Math.max(...sizes)).toBeLessThan(1024 * 1024);
  });
});
