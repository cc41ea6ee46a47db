import { describe, expect, test } from "vitest";
import { createOracle } from "../src/oracle.js";

const stable = createOracle();
const unstable = createOracle({ unstable: true });
const usage = { totalTokens: 3, inputTokens: 2, outputTokens: 1 };

describe("payloads", () => {
  test.each([
    [
      "an unknown root key",
      "session/update",
      "client",
      "notification",
      { sessionId: "s", eventId: 1, update: { sessionUpdate: "current_mode_update", currentModeId: "m" } },
    ],
    [
      "an unknown key deep inside",
      "session/new",
      "agent",
      "response",
      { sessionId: "s", modes: { currentModeId: "a", availableModes: [{ id: "a", name: "A", icon: "x" }] } },
    ],
    [
      "a marker that is not an object",
      "initialize",
      "agent",
      "response",
      { protocolVersion: 1, agentCapabilities: { sessionCapabilities: { resume: true } } },
    ],
    ["a key of the unstable schema", "session/prompt", "agent", "response", { stopReason: "end_turn", usage }],
    ["a method of the other side", "session/update", "agent", "notification", {}],
    ["an unknown method", "session/message", "agent", "request", {}],
    ["a name that every object has", "constructor", "agent", "request", {}],
  ] as const)("%s is a problem", (_, method, side, part, payload) => {
    expect(stable.payload(method, side, part, payload)).not.toEqual([]);
  });

  test.each([
    [
      "_meta anywhere",
      "session/update",
      "client",
      "notification",
      {
        sessionId: "s",
        _meta: { a: 1 },
        update: { sessionUpdate: "current_mode_update", currentModeId: "m", _meta: { b: [] } },
      },
    ],
    [
      "free-form values",
      "session/update",
      "client",
      "notification",
      {
        sessionId: "s",
        update: { sessionUpdate: "tool_call", toolCallId: "c", title: "t", rawInput: { any: { thing: 1 } } },
      },
    ],
    [
      "both kinds of option",
      "session/set_config_option",
      "agent",
      "response",
      {
        configOptions: [
          { type: "select", id: "m", name: "M", currentValue: "a", options: [{ value: "a", name: "A" }] },
          { type: "boolean", id: "b", name: "B", currentValue: true },
        ],
      },
    ],
    [
      "open markers",
      "initialize",
      "agent",
      "request",
      { protocolVersion: 1, clientCapabilities: { session: { notices: { more: 1 } } } },
    ],
    ["an extension method", "_chimera.dev/session/undo", "agent", "request", { anything: 1 }],
  ] as const)("%s is valid", (_, method, side, part, payload) => {
    expect(stable.payload(method, side, part, payload)).toEqual([]);
  });

  test("the unstable schema has more keys and methods", () => {
    expect(unstable.payload("session/prompt", "agent", "response", { stopReason: "end_turn", usage })).toEqual([]);
    expect(unstable.payload("session/fork", "agent", "request", { sessionId: "s", cwd: "/w" })).toEqual([]);
  });

  test("a method outside the specification can be allowed by name", () => {
    const oracle = createOracle({ allow: ["session/set_model"] });
    expect(oracle.payload("session/set_model", "agent", "request", { sessionId: "s", modelId: "m" })).toEqual([]);
  });
});

describe("conversations", () => {
  const request = { jsonrpc: "2.0", id: 1, method: "session/new", params: { cwd: "/w", mcpServers: [] } };

  test("an answer is judged by the method of its request", () => {
    const conversation = stable.conversation();
    expect(conversation.next("client", JSON.stringify(request))).toEqual([]);
    expect(conversation.open()).toEqual(["client session/new 1"]);
    expect(conversation.next("agent", { jsonrpc: "2.0", id: 1, result: { stopReason: "end_turn" } })).not.toEqual([]);
    expect(conversation.open()).toEqual([]);
  });

  test("the two sides have separate request ids", () => {
    const conversation = stable.conversation();
    conversation.next("client", request);
    const read = { jsonrpc: "2.0", id: 1, method: "fs/read_text_file", params: { sessionId: "s", path: "/w/a" } };
    expect(conversation.next("agent", read)).toEqual([]);
    expect(conversation.next("client", { jsonrpc: "2.0", id: 1, result: { content: "x" } })).toEqual([]);
    expect(conversation.next("agent", { jsonrpc: "2.0", id: 1, result: { sessionId: "s" } })).toEqual([]);
  });

  test.each([
    ["an answer twice", "agent", { jsonrpc: "2.0", id: 9, result: {} }],
    ["an id in use", "client", request],
    ["a result and an error", "agent", { jsonrpc: "2.0", id: 1, result: {}, error: { code: 1, message: "m" } }],
    ["an error without a message", "agent", { jsonrpc: "2.0", id: 1, error: { code: -32603 } }],
    ["another version", "client", { id: 2, method: "session/cancel", params: { sessionId: "s" } }],
    ["a batch", "client", [request]],
    ["half a line", "agent", '{"jsonrpc":'],
    ["a key on the frame", "agent", { jsonrpc: "2.0", method: "session/update", params: {}, eventId: 1 }],
  ] as const)("%s is a problem", (_, sender, frame) => {
    const conversation = stable.conversation();
    conversation.next("client", request);
    expect(conversation.next(sender, frame)).not.toEqual([]);
  });

  test("errors with a null id and cancellation by either side are valid", () => {
    const conversation = stable.conversation();
    const parseError = { jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } };
    expect(conversation.next("agent", parseError)).toEqual([]);
    const cancel = { jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 1 } };
    expect(conversation.next("agent", cancel)).toEqual([]);
    expect(conversation.next("client", cancel)).toEqual([]);
  });
});
