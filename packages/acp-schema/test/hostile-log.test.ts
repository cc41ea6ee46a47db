import { expect, test } from "vitest";
import { createJoin, foldConversation } from "../src/conversation.js";
import type { SessionEvent, SessionRecord } from "../src/events/index.js";

const stamps = { seq: 1, id: "evt-00000000", ts: "2026-01-01T00:00:00.000Z" };

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
