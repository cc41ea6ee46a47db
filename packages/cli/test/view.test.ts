/** The view of records, without a terminal. */
import type { AgentEvent, SessionRecord } from "@chimera/acp-schema/events";
import { expect, test } from "vitest";
import { createView } from "../src/conversation/view.js";
import { createStyle } from "../src/terminal/style.js";

function watch(more?: string | null) {
  let printed = "";
  let seconds = 0;
  const view = createView({
    style: createStyle(false),
    print(text) {
      printed += text;
    },
    width: () => 60,
    clock: () => 0,
    settings: () => null,
    ...(more !== undefined && { more }),
  });
  return {
    view,
    /** Makes records one second apart. */
    apply(...events: readonly AgentEvent[]) {
      for (const event of events) {
        const ts = new Date(Date.UTC(2026, 0, 1, 0, 0, seconds++)).toISOString();
        view.apply({ seq: seconds, id: "evt-00000000", ts, turn: 0, ...event } as SessionRecord);
      }
    },
    /** Returns the text printed since the last call. */
    take() {
      const text = printed;
      printed = "";
      return text;
    },
  };
}

const said = (text: string): AgentEvent => ({ type: "text_delta", metadata: { text } });
const partEnd: AgentEvent = { type: "part_end", metadata: { kind: "text" } };
const call = (call_id: string, title: string): AgentEvent => ({
  type: "tool_call",
  metadata: { call_id, tool: "task", args: {}, kind: "think", title, locations: [] },
});
const result = (call_id: string, more: object = {}): AgentEvent => ({
  type: "tool_result",
  metadata: { call_id, success: true, output: "Read it.", duration_ms: 9000, ...more },
});
const inside = (call_id: string, event: AgentEvent): AgentEvent => ({
  type: "task_event",
  metadata: { call_id, event: event as never },
});

test("consecutive messages stay separate", () => {
  const { apply, take } = watch();
  apply(
    { type: "turn_start", metadata: { prompt: "p" } },
    { type: "step_start", metadata: { step: 1 } },
    said("One"),
    partEnd,
    said("Two"),
    said(" and"),
    partEnd,
  );
  apply(call("c", "Look"), result("c"), said("Three"));
  apply({ type: "part_end", metadata: { kind: "reasoning" } }, said("Four"), partEnd);
  expect(take()).toBe("One\n\nTwo and\n\n✓ Look 9.0s\n\nThree\nFour\n");
});

test("a task is a line at its start and at its end; its present work is shown meanwhile, and its details on demand", () => {
  const { view, apply, take } = watch();
  apply(call("a", "explore: Look at it"));
  expect(take()).toBe("");
  apply(inside("a", said("I look.")), inside("a", call("a/1", "Read README.md")));
  expect(take()).toBe("▸ explore: Look at it\n");
  expect(view.lines()).toEqual(["  Read README.md 0ms"]);
  apply(call("b", "review: Judge it"), inside("b", call("b/1", "Search TODO")));
  expect(view.lines()).toEqual(["  explore: Look at it · Read README.md 0ms", "  review: Judge it · Search TODO 0ms"]);
  expect(take()).toBe("▸ review: Judge it\n");
  apply(inside("a", result("a/1")), inside("a", said("All of it is **good**.")), result("a"));
  expect(take()).toBe("✓ explore: Look at it 9.0s · 1 tool call · Ctrl-O shows it\n");
  view.unfold();
  expect(take()).toBe("▸ explore: Look at it\n│ I look.\n│ \n│ ✓ Read README.md 9.0s\n│ \n│ All of it is good.\n");
  apply(result("b", { success: false, output: "It broke.", error: "failed" }));
  expect(take()).toBe("✗ review: Judge it 9.0s failed\n  It broke.\n");
});

test("without folding, the details of a task are between its lines", () => {
  const { apply, take } = watch(null);
  const edit: AgentEvent = {
    type: "file_edit",
    metadata: { path: "a.txt", diff: "--- a\n+++ a\n@@ -1 +1 @@\n-old\n+new\n", change: "update" },
  };
  apply(call("a", "general: Do it"), inside("a", call("a/1", "Edit a.txt")), inside("a", edit));
  apply(inside("a", result("a/1")), result("a"));
  expect(take()).toBe(
    "▸ general: Do it\n│ ✓ Edit a.txt 9.0s\n│   @@ -1 +1 @@\n│   -old\n│   +new\n✓ general: Do it 9.0s · 1 tool call\n",
  );
});

test("a task's time excludes its questions, and unreadable records are left out", () => {
  const { apply, take } = watch();
  apply(call("a", "general: Do it"), inside("a", { type: "tool_call", metadata: { title: 7 } } as never));
  apply({ type: "question_asked", metadata: { question_id: "q", call_id: "a/1", question: "Which?", options: [] } });
  apply({ type: "question_answered", metadata: { question_id: "q", answer: "red", by: "client" } }, result("a"));
  expect(take()).toMatch(/✓ general: Do it 8\.0s · 0 tool calls · Ctrl-O shows it\n$/);
});

test("each Ctrl-O unfolds the text before the last one, and the time of a call inside a task excludes its question", () => {
  const { view, apply, take } = watch();
  const asked = { permission_id: "p", call_id: "a/1", tool: "Write", args: {}, risk: "medium", options: [] };
  apply(call("a", "general: Do it"), inside("a", call("a/1", "Write a.txt")));
  apply({ type: "permission_request", metadata: asked } as never);
  apply({ type: "permission_resolved", metadata: { permission_id: "p", decision: "allow", by: "client" } });
  apply(inside("a", result("a/1")), result("a"));
  apply(call("b", "general: Judge it"), inside("b", said("I judge.")), result("b"));
  take();
  view.unfold();
  expect(take()).toBe("▸ general: Judge it\n│ I judge.\n");
  view.unfold();
  expect(take()).toBe("▸ general: Do it\n│ ✓ Write a.txt 8.0s\n");
  view.unfold();
  expect(take()).toBe("");
});

test("the last lines of an endless task are kept", () => {
  const { view, apply, take } = watch();
  apply(call("a", "general: Do it"));
  for (let n = 0; n < 2100; n++) apply(inside("a", call(`a/${n}`, `Read ${n}`)), inside("a", result(`a/${n}`)));
  apply(result("a"));
  take();
  view.unfold();
  const lines = take().split("\n");
  expect(lines[1]).toBe("│ … 100 earlier lines");
  expect(lines.at(-2)).toBe("│ ✓ Read 2099 9.0s");
});

test("a turn continues when a prompt that waits for it is cancelled", () => {
  const { view, apply, take } = watch();
  apply({ type: "turn_start", metadata: { prompt: "p" } }, call("c", "Look"));
  const waited = { type: "cancelled", turn: 1, metadata: { output: "" } } as const;
  apply(waited);
  expect(take()).toBe("a waiting prompt was cancelled\n");
  expect(view.label(0)).toMatch(/^Look/);
  apply(result("c"), { type: "cancelled", metadata: { output: "" } });
  expect(take()).toBe("✓ Look 9.0s\ncancelled\n\n");
});

test("a slash command's text is not Markdown; a model's text is", () => {
  const { apply, take } = watch();
  const start: AgentEvent = { type: "turn_start", metadata: { prompt: "p" } };
  const end: AgentEvent = {
    type: "agent_result",
    metadata: { output: "", steps: 0, tool_calls_total: 0, cost: 0, success: true, error: null },
  };
  apply(start, said("apply_patch  *** Begin Patch\n  *a* __b__ | c"), end);
  expect(take()).toBe("apply_patch  *** Begin Patch\n  *a* __b__ | c\n\n");
  // A long listing is split into several records at any position.
  apply(start, said("  one  is th"), said("e first\n  two"), said("  is next\n  three"), end);
  expect(take()).toBe("  one  is the first\n  two  is next\n  three\n\n");
  apply(start, { type: "step_start", metadata: { step: 1 } }, said("It is *good*."), end);
  expect(take()).toBe("It is good.\n\n");
});
