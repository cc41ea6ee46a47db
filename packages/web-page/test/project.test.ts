import type { SessionRecord } from "@chimera/acp-schema/events";
import { expect, test } from "vitest";
import type { CallItem, TextItem } from "../src/page/session/item.js";
import { createProjection } from "../src/page/session/project.js";

function project(...events: readonly [type: string, turn: number | null, metadata: object][]) {
  const projection = createProjection();
  for (const [at, [type, turn, metadata]] of events.entries())
    projection.apply({ seq: at + 1, id: "evt-00000000", ts: "", type, turn, metadata } as unknown as SessionRecord);
  return projection.turns;
}

const call = { call_id: "c", tool: "Bash", args: { command: "ls" }, kind: "execute", title: "ls", locations: [] };

test("a call that was asked for shows what came of it, not the question", () => {
  const [turn] = project(
    ["user_message", 0, { prompt: "msg-0", text: "go" }],
    ["tool_call", 0, call],
    ["permission_request", 0, { permission_id: "p", call_id: "c", content: [{ type: "text", text: "ls" }] }],
    ["permission_resolved", 0, { permission_id: "p", decision: "allow", by: "client" }],
    ["tool_result", 0, { call_id: "c", success: true, output: "a b", duration_ms: 5 }],
  );
  expect(turn!.items[1] as CallItem).toMatchObject({
    state: "done",
    output: "a b",
    content: [],
    decision: "allowed",
  });
});

test("of two calls that wait, an answer belongs to the one that was asked about", () => {
  const [turn] = project(
    ["tool_call", 0, call],
    ["tool_call", 0, { ...call, call_id: "d" }],
    ["permission_request", 0, { permission_id: "p", call_id: "c" }],
    ["permission_request", 0, { permission_id: "q", call_id: "d" }],
    ["permission_resolved", 0, { permission_id: "q", decision: "deny", by: "timeout" }],
  );
  expect(turn!.items).toMatchObject([
    { id: "c", state: "waiting", decision: null },
    { id: "d", state: "running", decision: "rejected without an answer in time" },
  ]);
});

test("a prompt that waits does not cut the text of the turn that runs", () => {
  const turns = project(
    ["user_message", 0, { prompt: "msg-0", text: "go" }],
    ["text_delta", 0, { text: "One sen" }],
    ["user_message", 1, { prompt: "msg-1", text: "next" }],
    ["text_delta", 0, { text: "tence." }],
    ["agent_result", 0, { output: "One sentence.", success: true, error: null }],
  );
  expect(turns.map(({ items }) => items.map(({ type }) => type))).toEqual([["prompt", "text"], ["prompt"]]);
  expect((turns[0]!.items[1] as TextItem).blocks.closed.map(({ text }) => text)).toEqual(["One sentence."]);
});

test("types that nobody knows, and calls that were never announced, change nothing", () => {
  const turns = project(
    ["from_the_future", 0, { text: "?" }],
    ["tool_result", 0, { call_id: "x", success: true, output: "", duration_ms: 0 }],
    ["toString", 0, {}],
  );
  expect(turns).toEqual([]);
});

test("what happens in a task is inside its card, and a job is a card of its own", () => {
  const inside = (type: string, metadata: object) => ({ call_id: "c", event: { type, metadata } });
  const [turn] = project(
    ["tool_call", 0, call],
    ["task_event", 0, inside("tool_call", { ...call, call_id: "c/read" })],
    ["task_event", 0, inside("text_delta", { text: "Seen." })],
    ["job_started", 0, { job_id: "job-1", call_id: "c", command: "serve" }],
    ["job_output", 0, { job_id: "job-1", stream: "stdout", chunk: "up" }],
    ["job_ended", null, { job_id: "job-1", exit_code: null, by: "session" }],
  );
  expect(turn!.items).toMatchObject([
    { id: "c", inside: [{ type: "call", id: "c/read" }, { type: "text" }] },
    { id: "job-1", state: "done", progress: "up", decision: "ended by the session" },
  ]);
});
