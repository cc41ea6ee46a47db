/** Replies as parts with seals: kept in the log, given back to the agent, shown to nobody else. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentEvent, Message, SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore } from "@chimera/event-store";
import { expect, onTestFinished, test } from "vitest";
import type { Agent } from "../src/index.js";
import { makeSessions, recordsOf, runPrompt } from "./fixture.js";

const seal = (data: string) => ({ provider: "p", model: "m", data: { signature: data } });
const call = (call_id: string): AgentEvent => ({
  type: "tool_call",
  metadata: { call_id, tool: "Read", args: { path: call_id }, kind: "read", title: "Read", locations: [] },
});
const result = (call_id: string, more: object): AgentEvent => ({
  type: "tool_result",
  metadata: { call_id, success: false, output: "", duration_ms: 1, ...more },
});

const REPLY: readonly AgentEvent[] = [
  { type: "step_start", metadata: { step: 0 } },
  { type: "part_end", metadata: { kind: "reasoning", seal: seal("redacted") } },
  { type: "thought_delta", metadata: { text: "hm" } },
  { type: "thought_delta", metadata: { text: ", so" } },
  { type: "part_end", metadata: { kind: "reasoning", seal: seal("first") } },
  { type: "part_end", metadata: { kind: "call", call_id: "a" } },
  { type: "text_delta", metadata: { text: "One" } },
  { type: "part_end", metadata: { kind: "text" } },
  { type: "text_delta", metadata: { text: "Two" } },
  { type: "part_end", metadata: { kind: "call", call_id: "a", seal: seal("call") } },
  call("a"),
  call("b"),
  result("a", { output: "said", error: "code" }),
  result("b", { error: "only an error" }),
  { type: "step_end", metadata: { step: 0 } },
];

const PARTS: Message[] = [
  { role: "user", text: "go" },
  {
    role: "assistant",
    parts: [
      { type: "reasoning", text: "", seal: seal("redacted") },
      { type: "reasoning", text: "hm, so", seal: seal("first") },
      { type: "call", id: "a", name: "Read", args: { path: "a" }, seal: seal("call") },
      { type: "text", text: "One" },
      { type: "text", text: "Two" },
      { type: "call", id: "b", name: "Read", args: { path: "b" } },
    ],
  },
  // The model read this during the turn: the output, or the reason why there is none.
  { role: "tool", id: "a", name: "Read", output: "said", success: false },
  { role: "tool", id: "b", name: "Read", output: "only an error", success: false },
];

test("parts keep their order and their seals, in the next turn and after a restart", async () => {
  const root = mkdtempSync(join(tmpdir(), "parts-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  let seen: readonly Message[] = [];
  const agent: Agent = async function* ({ history }) {
    seen = history;
    yield* REPLY;
  };
  const open = () => {
    const store = createFileStore<SessionEvent, Summary>({ root });
    const sessions = makeSessions(agent, { store });
    return { sessions, close: () => sessions.shutdown().then(() => store.close()) };
  };
  const before = open();
  const { id } = await before.sessions.create({ cwd: "/" });
  await runPrompt(before.sessions, id, "go");
  await runPrompt(before.sessions, id, "again");
  expect(seen).toEqual(PARTS);
  await before.close();
  const after = open();
  onTestFinished(after.close);
  await runPrompt(after.sessions, id, "once more");
  expect(seen.slice(0, PARTS.length)).toEqual(PARTS);
});

test("clients get no seals, and the log has all of them", async () => {
  const sessions = makeSessions(async function* () {
    yield* REPLY;
  });
  const session = await sessions.create({ cwd: "/" });
  await runPrompt(sessions, session.id, "go");
  const shown = [];
  for await (const record of (await sessions.loadVisible(session.id)).visible) shown.push(record);
  expect(JSON.stringify(shown)).not.toContain("signature");
  expect(JSON.stringify(await recordsOf(sessions, session.id)).split("signature")).toHaveLength(4);
});

test("a turn that was compacted half-way continues with its prompt and the kept part, also after a restart", async () => {
  const root = mkdtempSync(join(tmpdir(), "parts-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  let seen: readonly Message[] = [];
  const step = (n: number): AgentEvent[] => [
    { type: "step_start", metadata: { step: n } },
    call(`c${n}`),
    result(`c${n}`, { success: true, output: `result ${n}` }),
    { type: "step_end", metadata: { step: n } },
  ];
  const places = [undefined, "c2", null, "unheard-of"];
  const agent: Agent = async function* ({ history, number }) {
    seen = history;
    for (const n of [0, 1, 2]) yield* step(n);
    const from_call = places[number];
    const from = { from_turn: number, ...(from_call !== undefined && { from_call }) };
    yield { type: "compaction", metadata: { summary: `until ${number}`, ...from } };
    yield* step(3);
  };
  const open = () => {
    const store = createFileStore<SessionEvent, Summary>({ root });
    const sessions = makeSessions(agent, { store });
    return { sessions, close: () => sessions.shutdown().then(() => store.close()) };
  };
  const told = () =>
    seen.map((message) => {
      if (message.role === "assistant")
        return message.parts.map((part) => (part.type === "call" ? part.id : part.type)).join();
      return message.role === "tool" ? message.output : message.text;
    });
  const kept = (...numbers: number[]) => numbers.flatMap((n) => [`c${n}`, `result ${n}`]);
  const expected = [
    [],
    ["until 0", "prompt 0", ...kept(0, 1, 2, 3)],
    ["until 1", "prompt 1", ...kept(2, 3)],
    ["until 2", "prompt 2", ...kept(3)],
    ["until 3", "prompt 3", ...kept(0, 1, 2, 3)],
  ];
  let id = "";
  for (const [turn, messages] of expected.entries()) {
    const { sessions, close } = open();
    id ||= (await sessions.create({ cwd: "/" })).id;
    await runPrompt(sessions, id, `prompt ${turn}`);
    expect(told()).toEqual(messages);
    await close();
  }
});
