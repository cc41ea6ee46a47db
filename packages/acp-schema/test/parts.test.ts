import { expect, test } from "vitest";
import type { Metadata } from "../src/events/index.js";
import { asShown, callsOf, createParts, type PartEvent, textOf } from "../src/events/parts.js";

const text = (said: string): PartEvent => ({ type: "text_delta", metadata: { text: said } });
const thought = (said: string): PartEvent => ({ type: "thought_delta", metadata: { text: said } });
const end = (metadata: Metadata<"part_end">): PartEvent => ({ type: "part_end", metadata });
const call = (call_id: string): PartEvent => ({
  type: "tool_call",
  metadata: { call_id, tool: "Read", args: { path: call_id }, kind: "read", title: "Read", locations: [] },
});
const seal = (data: string) => ({ provider: "p", model: "m", data });
const partsOf = (...events: PartEvent[]) => {
  const reply = createParts();
  for (const event of events) reply.apply(event);
  return reply.take();
};
const called = (id: string) => ({ type: "call", id, name: "Read", args: { path: id } });

test("deltas of one kind become one part, and parts keep the order of their events", () => {
  expect(partsOf(thought("a"), thought("b"), text("c"), text("d"), thought("e"), call("1"))).toEqual([
    { type: "reasoning", text: "ab" },
    { type: "text", text: "cd" },
    { type: "reasoning", text: "e" },
    called("1"),
  ]);
});

test("an end keeps two texts apart and has the seal of the part that it closes", () => {
  expect(partsOf(text("a"), end({ kind: "text" }), text("b"), end({ kind: "text", seal: seal("s") }))).toEqual([
    { type: "text", text: "a" },
    { type: "text", text: "b", seal: seal("s") },
  ]);
});

test("an end with a seal and without deltas becomes a part without text", () => {
  expect(partsOf(end({ kind: "reasoning", seal: seal("s") }), end({ kind: "text" }), text("a"))).toEqual([
    { type: "reasoning", text: "", seal: seal("s") },
    { type: "text", text: "a" },
  ]);
  expect(partsOf(text("a"), end({ kind: "text" }), end({ kind: "text", seal: seal("s") }))).toEqual([
    { type: "text", text: "a" },
    { type: "text", text: "", seal: seal("s") },
  ]);
});

test("a call has the place of its recorded end, even if it is announced later", () => {
  const events = [
    thought("a"),
    end({ kind: "reasoning", seal: seal("1") }),
    end({ kind: "call", call_id: "x" }),
    thought("b"),
    end({ kind: "reasoning", seal: seal("2") }),
    end({ kind: "call", call_id: "x", seal: seal("x") }),
    call("x"),
    call("y"),
  ];
  expect(partsOf(...events)).toEqual([
    { type: "reasoning", text: "a", seal: seal("1") },
    { ...called("x"), seal: seal("x") },
    { type: "reasoning", text: "b", seal: seal("2") },
    called("y"),
  ]);
});

test("a call that was never announced is left out, and take() begins a new reply", () => {
  const reply = createParts();
  reply.apply(text("a"));
  reply.apply(end({ kind: "call", call_id: "x", seal: seal("x") }));
  expect(reply.take()).toEqual([{ type: "text", text: "a" }]);
  reply.apply(call("x"));
  expect(reply.take()).toEqual([called("x")]);
  expect(reply.take()).toEqual([]);
});

test("a reply's text and calls come from its parts", () => {
  const message = { parts: partsOf(text("a"), thought("b"), call("1"), text("c"), call("2")) };
  expect(textOf(message)).toBe("ac");
  expect(callsOf(message).map(({ id }) => id)).toEqual(["1", "2"]);
});

test("clients do not see seals", () => {
  const event = end({ kind: "call", call_id: "x", seal: seal("secret") });
  expect(asShown(event)).toEqual(end({ kind: "call", call_id: "x" }));
  expect(asShown(text("a"))).toEqual(text("a"));
});
