// Tests which standard ACP updates each record makes, live and on replay.
import type { AgentEvent, SessionRecord } from "@chimera/acp-schema/events";
import type { Agent } from "@chimera/session";
import { describe, expect, test } from "vitest";
import { createFrames } from "../src/standard/frames.js";
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
    [
      {
        sessionUpdate: "agent_message_chunk",
        messageId: expect.stringMatching(/^msg-\d+$/),
        content: { type: "text", text: '"quoted"},"\\ \u0000 \u{1f600}' },
      },
    ],
  ],
  [
    "thought",
    { type: "thought_delta", metadata: { text: "hm" } },
    [
      {
        sessionUpdate: "agent_thought_chunk",
        messageId: expect.stringMatching(/^msg-\d+$/),
        content: { type: "text", text: "hm" },
      },
    ],
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
        locations: [{ path: "/a", line: 1 }],
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
  const live = client.updates().slice(before).filter(fromAgent);
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

  test("lists an engine's commands after our own, and never in their place", async () => {
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

  // Not a thought, because editors fold thoughts away and readers take them for the model's.
  test.each([
    ["info", "notice", { level: "info", text: "Look." }, "\n\n> **Notice:** Look.\n\n"],
    ["warning", "notice", { level: "warning", text: "One.\nTwo." }, "\n\n> **Warning:** One.\n> Two.\n\n"],
    [
      "refusal",
      "sandbox_violation",
      { tool: "Bash", mode: "x", reason: "no" },
      "\n\n> **Warning:** Bash was stopped: no\n\n",
    ],
  ])(
    "of a notice (%s) is a message apart from the model's, for clients that do not know notices",
    async (_, type, metadata, text) => {
      const { live, replayed, problems } = await shown({ type, metadata } as AgentEvent, {});
      const update = {
        sessionUpdate: "agent_message_chunk",
        messageId: expect.stringMatching(/^notice-\d+$/),
        content: { type: "text", text, annotations: { audience: ["user"] } },
      };
      expect(live.filter(fromAgent)).toEqual([update]);
      expect(replayed.filter(fromAgent)).toEqual([update]);
      expect(problems).toEqual([]);
    },
  );

  test("of a compaction is not sent to clients that cannot show it", async () => {
    const { live } = await shown(rows.find(([row]) => row === "compaction")![1], {});
    expect(live.filter(fromAgent)).toEqual([]);
  });

  test("names its message: one for text, one for thoughts, and new ones after a call and a notice", async () => {
    const say = (value: string): AgentEvent => ({ type: "text_delta", metadata: { text: value } });
    const think: AgentEvent = { type: "thought_delta", metadata: { text: "hm" } };
    const warn: AgentEvent = { type: "notice", metadata: { level: "info", text: "Look." } };
    const events = [say("a"), think, say("b"), call(), result({}), say("c"), warn, say("d")];
    const client = await standardClient(makeEngine(yielding(...events), { coalesce: false }));
    await client.prompt("go");
    const ids = client
      .updates()
      .filter(({ sessionUpdate }) => sessionUpdate.endsWith("_chunk"))
      .map(({ messageId }) => messageId);
    const [a, thought, b, c, notice, d] = ids;
    expect(b).toBe(a);
    expect(new Set([a, thought, c, notice, d]).size).toBe(5);
    expect(client.problems()).toEqual([]);
  });

  test("of usage rounds away the noise of binary fractions", async () => {
    const usage = { input: 1, output: 1, cache: 0, reasoning: 0, total_usd: 0.1 + 0.2, priced: true, used: 2, size: 9 };
    const { live } = await shown({ type: "usage", metadata: usage }, {});
    expect(live[0]).toMatchObject({ cost: { amount: 0.3, currency: "USD" } });
  });

  test("of a file change names the changed line", async () => {
    const content = [{ type: "diff", path: "/a", old_text: "one\ntwo\nthree\n", new_text: "one\n2\nthree\n" }];
    const { live } = await shown(result({ content }), {});
    expect(live[0]).toMatchObject({ locations: [{ path: "/a", line: 2 }] });
  });

  test("of a call has its title, name, kind, locations and arguments", async () => {
    const { live, problems } = await shown(call({ path: "/a" }), {});
    expect(live[0]).toEqual({
      sessionUpdate: "tool_call",
      toolCallId: "c1",
      title: "Edit a",
      name: "Edit",
      kind: "edit",
      status: "pending",
      locations: [{ path: "/a", line: 3 }],
      rawInput: { path: "/a" },
    });
    expect(live[1]).toMatchObject({ sessionUpdate: "tool_call_update", status: "failed" });
    expect(problems).toEqual([]);
  });
});

describe("a running command", () => {
  const command: AgentEvent = {
    type: "tool_call",
    metadata: { call_id: "c1", tool: "Bash", args: {}, kind: "execute", title: "make", locations: [] },
  };
  const prints = (chunk: string): AgentEvent => ({
    type: "tool_progress",
    metadata: { call_id: "c1", stream: "stdout", chunk },
  });
  const failed = result({ success: false, output: "one\ntwo", error: "Exit code 2" });
  /** An agent whose command prints several lines and ends after `last` has resolved. */
  const printing = (last: () => Promise<unknown>): Agent =>
    async function* () {
      yield command;
      yield { type: "tool_update", metadata: { call_id: "c1" } };
      yield prints("one\n");
      yield prints("\u001b[31mtwo\u001b[0m\n1 %\r99 %\r");
      await last();
      yield failed;
    };

  test("shows its newest lines as a code block, and nothing after its result", async () => {
    const shownText = (update: Record<string, unknown> | undefined) =>
      (update?.["content"] as { content: { text: string } }[] | undefined)?.[0]?.content.text ?? "";
    const last = () => client.until(({ params }) => shownText(params?.update).includes("two"));
    const client: Awaited<ReturnType<typeof standardClient>> = await standardClient(makeEngine(printing(() => last())));
    await client.prompt("go");
    const [started, ...updates] = [...client.updates("tool_call"), ...client.updates("tool_call_update")];
    expect(started).toMatchObject({ status: "pending" });
    expect(updates.map(({ status }) => status)).toEqual([...updates.slice(1).map(() => "in_progress"), "failed"]);
    expect(updates.map(shownText).filter(Boolean)).toEqual([
      "```\none\n```",
      "```\none\ntwo\n```",
      "```\none\ntwo\nExit code 2\n```",
    ]);
    expect(client.problems()).toEqual([]);
  });

  test("is sent as a terminal to an editor that draws terminals for commands it did not run", async () => {
    const client = await standardClient(makeEngine(printing(async () => {})), { _meta: { terminal_output: true } });
    await client.prompt("go");
    const updates = [...client.updates("tool_call"), ...client.updates("tool_call_update")];
    const terminal = [{ type: "terminal", terminalId: "c1" }];
    expect(updates[0]).toMatchObject({ content: terminal, _meta: { terminal_info: { terminal_id: "c1" } } });
    const printed = updates.flatMap(({ _meta }) => (_meta as Record<string, object>)?.["terminal_output"] ?? []);
    expect(printed).toMatchObject([{ terminal_id: "c1", data: "one\n" }, { data: expect.stringContaining("two") }]);
    expect(updates.at(-1)).toMatchObject({
      content: terminal,
      _meta: { terminal_exit: { terminal_id: "c1", exit_code: 2, signal: null } },
    });
    expect(client.problems()).toEqual([]);
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

test.each(["constructor", "toString", "of_tomorrow"])("a record of type %s shows nothing", (type) => {
  const record = { type, seq: 1, id: "evt-00000000", ts: "2026-04-25T12:03:00.000Z", turn: 0, metadata: {} };
  const frames = createFrames("s1", {} as Parameters<typeof createFrames>[1]);
  expect(frames.of(record as unknown as SessionRecord)).toEqual([]);
});
