import { expect, test } from "vitest";
import { createJoin, foldConversation } from "../src/conversation.js";
import type { SessionEvent, SessionRecord } from "../src/events/index.js";

const stamps = { seq: 1, id: "evt-00000000", ts: "2026-01-01T00:00:00.000Z" };

test.each([{}, 5, [null], "x", [{ path: 7 }]])(
  "locations of an edit without paths are passed over: %j",
  (locations) => {
    const conversation = foldConversation();
    const call = { call_id: "c", tool: "Edit", args: {}, kind: "edit", title: "Edit", locations };
    for (const [type, metadata] of [
      ["user_message", { prompt: "msg-0", text: "hi" }],
      ["tool_call", call],
      ["tool_result", { call_id: "c", success: true, output: "", duration_ms: 1 }],
      ["file_edit", { path: locations, diff: "", change: "update" }],
      ["file_edit", { path: "/a.txt", diff: "", change: "update" }],
    ])
      conversation.apply({ type, turn: 0, metadata } as unknown as SessionEvent);
    const paths = [...conversation.turns[0]!.edited];
    expect(paths).toEqual(locations === "x" ? ["x", "/a.txt"] : ["/a.txt"]);
  },
);

test.each([
  { type: "__proto__", turn: 0, metadata: {} },
  { type: "__defineGetter__", turn: 0, metadata: {} },
  { type: "user_message", turn: 0 },
  { type: "user_message", turn: "length", metadata: { text: "x" } },
  { type: "user_message", turn: -1, metadata: { text: "x" } },
  { type: "user_message", turn: 0.5, metadata: { text: "x" } },
  { type: "user_message", turn: 4_000_000_000, metadata: { text: "x" } },
  { type: "tool_result", turn: 0, metadata: null },
  { type: "text_delta", turn: 0, metadata: {} },
])("an invalid line in a log changes nothing: %j", (line) => {
  const conversation = foldConversation();
  conversation.apply(line as unknown as SessionEvent);
  conversation.apply({ type: "user_message", turn: 0, metadata: { prompt: "msg-0", text: "hi" } });
  expect(conversation.turns).toMatchObject([{ number: 0, prompt: { text: "hi" } }]);
  expect(conversation.undoable()).toEqual([]);
  const join = createJoin();
  join.push({ ...stamps, ...line } as unknown as SessionRecord);
  expect(() => join.end()).not.toThrow();
});
