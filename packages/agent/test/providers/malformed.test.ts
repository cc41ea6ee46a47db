import { describe, expect, it } from "vitest";
import { of, takeTurn } from "../take-turn.js";
import { serveWire } from "./wire-server.js";
import { agentOn, anthropic, chat } from "./wires.js";

const data = (...events: unknown[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const choice = (delta: unknown, finish_reason: unknown = "stop") => ({ choices: [{ delta, finish_reason }] });
const stop = { type: "message_stop" };

describe("a server that does not keep to its protocol", () => {
  it.each([
    ["end_turn", chat, data(null, 1, [], {}, { choices: null }, { choices: [null] }, choice(null))],
    ["end_turn", chat, data(choice({ content: { a: 1 }, reasoning: 7, refusal: [] }, "__proto__"))],
    ["end_turn", chat, data({ usage: "x" }, { usage: { prompt_tokens: "9", completion_tokens: -1 } }, choice({}))],
    ["error", chat, data(choice({ tool_calls: [null] }))],
    ["error", chat, data({ choices: "abc" })],
    ["error", chat, data({ error: { code: "constructor", message: null } })],
    ["error", chat, data({ error: "no" })],
    ["error", chat, `data: ${"x".repeat(17 * 1024 * 1024)}`],
    ["end_turn", anthropic, data({ type: "constructor" }, { type: "message_start" }, { type: "message_delta" }, stop)],
    ["end_turn", anthropic, data({ type: "content_block_delta", delta: { type: "text_delta", text: 5 } }, stop)],
    ["error", anthropic, data({ type: "content_block_start", content_block: null }, stop)],
    ["error", anthropic, data({ type: "error", error: null })],
    ["error", anthropic, data({ type: "content_block_start", index: 0, content_block: { type: "text" } })],
  ])("ends the turn with %s, and nothing else happens", async (stop_reason, wire, stream) => {
    const server = await serveWire([{ writes: [stream] }]);
    const events = await takeTurn(agentOn(wire, server.url));
    expect(of(events, "turn_end")).toEqual([{ stop_reason }]);
    for (const { name } of of(events, "error"))
      expect(["bad_reply", "provider_failed", "connection_lost"]).toContain(name);
  });

  it.each([
    [chat, data(choice({ tool_calls: [{ index: "x", id: 5, function: { name: 7, arguments: { a: 1 } } }] }))],
    [
      anthropic,
      data(
        { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: 7, name: {}, input: [1] } },
        { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: {} } },
        { type: "content_block_stop", index: 0 },
        stop,
      ),
    ],
  ])("is told of a call that makes no sense", async (wire, stream) => {
    const server = await serveWire([{ writes: [stream] }, { writes: [wire.closing] }]);
    const events = await takeTurn(agentOn(wire, server.url));
    expect(of(events, "tool_result")).toMatchObject([{ success: false, error: "invalid_call" }]);
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "end_turn" }]);
  });

  it.each([
    [301, "", "bad_request"],
    [404, '{"error":{"message":"no such model"}}', "model_unavailable"],
    [402, '{"error":{"message":"pay"}}', "unauthorized"],
    [429, '{"error":{"type":"insufficient_quota","message":"empty"}}', "unauthorized"],
    [200, '{"choices":[{"message":{"content":"not streamed"}}]}', "bad_reply"],
    [400, "<html>".repeat(20_000), "bad_request"],
  ])("answers %i and is not asked again", async (status, body, name) => {
    const headers = { "content-type": "application/json" };
    const server = await serveWire([{ status, headers, writes: [body] }]);
    expect(of(await takeTurn(agentOn(chat, server.url)), "error")).toMatchObject([{ name }]);
    expect(server.requests).toHaveLength(1);
  });
});
