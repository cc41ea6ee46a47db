import { describe, expect, it } from "vitest";
import { of, takeTurn, toolNamed } from "../take-turn.js";
import { serveWire } from "./wire-server.js";
import { agentOn, anthropic, chat, gemini, ollama, responses } from "./wires.js";

const data = (...events: unknown[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const choice = (delta: unknown, finish_reason: unknown = "stop") => ({ choices: [{ delta, finish_reason }] });
const stop = { type: "message_stop" };
const completed = { type: "response.completed" };
const stopped = { candidates: [{ finishReason: "STOP" }] };
const lines = (...events: unknown[]) => events.map((event) => `${JSON.stringify(event)}\n`).join("");
const ended = { type: "message_delta", delta: { stop_reason: "end_turn" } };

describe("a server that breaks its protocol", () => {
  it.each([
    ["error", chat, data(null, 1, [], {}, { choices: null }, { choices: [null] }, choice(null))],
    ["error", chat, data(choice({ content: { a: 1 }, reasoning: 7, refusal: [] }, "__proto__"))],
    ["error", chat, data({ usage: "x" }, { usage: { prompt_tokens: "9", completion_tokens: -1 } }, choice({}))],
    ["error", chat, data(choice({ tool_calls: [null] }))],
    ["error", chat, data({ choices: "abc" })],
    ["error", chat, data({ error: { code: "constructor", message: null } })],
    ["error", chat, data({ error: "no" })],
    ["error", chat, `data: ${"x".repeat(17 * 1024 * 1024)}`],
    ["error", anthropic, data({ type: "constructor" }, { type: "message_start" }, { type: "message_delta" }, stop)],
    ["error", anthropic, data({ type: "content_block_delta", delta: { type: "text_delta", text: 5 } }, stop)],
    ["end_turn", chat, data(choice({ content: "hi" }, { a: 1 }), choice({ content: 5 }))],
    ["error", anthropic, data({ type: "content_block_start", content_block: null }, stop)],
    ["error", anthropic, data({ type: "error", error: null })],
    ["error", anthropic, data({ type: "content_block_start", index: 0, content_block: { type: "text" } })],
    [
      "error",
      responses,
      data(null, 1, [], {}, { type: "constructor" }, { type: "response.output_item.done" }, completed),
    ],
    ["error", responses, data({ type: "response.output_text.delta", delta: { a: 1 } }, completed)],
    [
      "error",
      responses,
      data({ type: "response.output_item.done", item: { type: "message", content: [null, 7] } }, completed),
    ],
    [
      "error",
      responses,
      data({ type: "response.output_item.done", item: { type: "reasoning", summary: {}, id: 5 } }, completed),
    ],
    ["error", responses, data({ type: "response.failed" })],
    ["error", responses, data({ ...completed, response: { output: [null, { type: "message", content: 5 }] } })],
    ["error", responses, data({ type: "error", code: null, message: null })],
    ["error", responses, data({ type: "response.created" })],
    ["error", gemini, data(null, 1, [], {}, { candidates: null }, { candidates: [null] }, stopped)],
    [
      "error",
      gemini,
      data({ candidates: [{ content: { parts: [{ text: 5 }, {}, { text: "", thought: 1 }] } }] }, stopped),
    ],
    ["error", gemini, data({ candidates: [{ content: { parts: [null] } }] })],
    ["error", gemini, data({ candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL" }] })],
    ["error", gemini, data({ candidates: [{ finishReason: "__proto__" }] })],
    ["error", gemini, data({ error: {} })],
    ["refusal", gemini, data({ promptFeedback: { blockReason: "SAFETY" } })],
    [
      "error",
      ollama,
      lines(null, 1, [], {}, { message: null }, { message: { content: 5, thinking: [] } }, { done: true }),
    ],
    ["error", ollama, lines({ done: "yes" }, { done: true, prompt_eval_count: "x" }).trimEnd()],
    ["error", ollama, lines({ error: { a: 1 } })],
    ["error", ollama, lines({ done: true }).slice(0, -3)],
    ["error", ollama, "x".repeat(17 * 1024 * 1024)],
  ])("ends the turn with %s, and nothing else happens", async (stop_reason, wire, stream) => {
    const server = await serveWire([{ writes: [stream] }]);
    const events = await takeTurn(agentOn(wire, server.url));
    expect(of(events, "turn_end")).toEqual([{ stop_reason }]);
    for (const { name } of of(events, "error"))
      expect(["bad_reply", "provider_failed", "connection_lost", "empty_reply"]).toContain(name);
  });

  it.each([
    [chat, data({ error: { message: `x${"😀".repeat(2000)}` } })],
    [anthropic, data({ type: "error", error: { message: `x${"😀".repeat(2000)}` } })],
    [chat, `data: {x${"😀".repeat(200)}\n\n`],
    [chat, `${"x".repeat(11)}${"😀".repeat(200)}`],
  ])("is quoted without lone surrogates", async (wire, stream) => {
    const server = await serveWire([{ writes: [stream] }]);
    const [error] = of(await takeTurn(agentOn(wire, server.url)), "error");
    expect(error?.message).toContain("😀");
    // Throws if half a character is left.
    encodeURIComponent(error?.message ?? "");
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
    [
      responses,
      data({ type: "response.output_item.done", item: { type: "function_call", call_id: 5, name: 7 } }, completed),
    ],
    [
      gemini,
      data({ candidates: [{ content: { parts: [{ functionCall: { id: 5, name: [], args: "x" } }] } }] }, stopped),
    ],
    [ollama, lines({ message: { tool_calls: [null] } }, { done: true })],
  ])("gets an error result for a call that makes no sense", async (wire, stream) => {
    const server = await serveWire([{ writes: [stream] }, { writes: [wire.closing] }]);
    const events = await takeTurn(agentOn(wire, server.url));
    expect(of(events, "tool_result")).toMatchObject([{ success: false, error: "invalid_call" }]);
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "end_turn" }]);
  });

  it.each([
    [chat, data(choice({ content: "All." }))],
    [anthropic, data({ type: "content_block_delta", delta: { type: "text_delta", text: "All." } }, ended)],
  ])("has sent a complete reply when it cuts the connection after the stop reason", async (wire, finish) => {
    const server = await serveWire([{ writes: [finish], after: "cut" }]);
    const events = await takeTurn(agentOn(wire, server.url));
    expect(of(events, "text_delta")).toEqual([{ text: "All." }]);
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "end_turn" }]);
  });

  it("that omits the end of a block still has its call run, and events after the end are ignored", async () => {
    const started = { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "a", name: "x" } };
    const late = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "late" } };
    const server = await serveWire([{ writes: [data(started, stop, late)] }, { writes: [anthropic.closing] }]);
    const events = await takeTurn(agentOn(anthropic, server.url));
    expect(of(events, "tool_call")).toMatchObject([{ call_id: "a", tool: "x" }]);
    expect(JSON.stringify(events)).not.toContain("late");
  });

  it.each([chat, anthropic])("counts no tokens that cannot be counted", async (wire) => {
    const usage = { prompt_tokens: 1e308, completion_tokens: 1e308, input_tokens: 1e308, output_tokens: 1e308 };
    const stream =
      wire === chat
        ? data(choice({ content: "hi" }), { usage })
        : data(
            { type: "message_start", message: { usage } },
            { type: "content_block_delta", delta: { type: "text_delta", text: "hi" } },
            { type: "message_delta", usage },
            stop,
          );
    const server = await serveWire([{ writes: [stream] }]);
    expect(of(await takeTurn(agentOn(wire, server.url)), "usage")).toMatchObject([{ input: 0, output: 0, used: 0 }]);
  });

  it("that calls an invalid name gets the error under a name that it accepts", async () => {
    const name = `functions.look ${"x".repeat(500)}`;
    const call = choice({ tool_calls: [{ index: 0, id: "a", function: { name, arguments: "{}" } }] }, "tool_calls");
    const server = await serveWire([{ writes: [data(call)] }, { writes: [chat.closing] }]);
    const events = await takeTurn(agentOn(chat, server.url));
    expect(of(events, "tool_call")).toMatchObject([{ tool: `functions_look_${"x".repeat(49)}` }]);
    expect(of(events, "tool_result")[0]?.output).toContain('"functions.look xxx');
  });

  it("gets an error for arguments that nest without end", async () => {
    const args = `{"path":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    const call = choice(
      { tool_calls: [{ index: 0, id: "a", function: { name: "look", arguments: args } }] },
      "tool_calls",
    );
    const server = await serveWire([{ writes: [data(call)] }, { writes: [chat.closing] }]);
    const events = await takeTurn({
      ...agentOn(chat, server.url),
      tools: [toolNamed("look", async () => ({ success: true, output: "" }))],
    });
    expect(of(events, "tool_call")).toMatchObject([{ args: {} }]);
    expect(of(events, "tool_result")).toMatchObject([{ output: "The arguments are nested too deeply." }]);
  });

  it.each([
    ["a page", { headers: { "content-type": "text/html" }, writes: ["<html>log in</html>"] }, "log in"],
    ["a page that is called a stream", { writes: ["<html>log in</html>"] }, "log in"],
    ["a compressed reply", { headers: { "content-encoding": "gzip" }, writes: ["\x1f\x8b"] }, "compressed"],
    ["comments without end", { writes: Array(129).fill(`: ${"x".repeat(1024 * 1024)}\n\n`) }, "no end"],
    ["an error as long as a book", { writes: [data({ error: "x".repeat(5_000_000) })] }, "xxx"],
  ])("answers with %s and is not asked again", async (_name, reply, said) => {
    const server = await serveWire([reply]);
    const errors = of(await takeTurn(agentOn(chat, server.url)), "error");
    expect(errors).toMatchObject([{ retryable: _name.startsWith("an error"), message: expect.stringContaining(said) }]);
    expect(errors[0]?.message.length).toBeLessThan(3_000);
  });

  it.each([
    ["its first event", ["da", 'ta: {"choices":']],
    ["anything but signs of life", [": still at it\n\n"]],
  ])("breaks off before it has sent %s, and is asked again", async (_name, writes) => {
    const server = await serveWire([{ writes }, { writes: [chat.closing] }]);
    const events = await takeTurn(agentOn(chat, server.url));
    expect(of(events, "notice")).toHaveLength(1);
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "end_turn" }]);
  });

  it("switches protocols unasked, and is asked again", async () => {
    const upgrade = { connection: "upgrade", upgrade: "x" };
    const server = await serveWire([{ status: 101, headers: upgrade, after: "cut" }, { writes: [chat.closing] }]);
    const events = await takeTurn(agentOn(chat, server.url));
    expect(of(events, "notice")).toHaveLength(1);
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "end_turn" }]);
  });

  it("is not there, which is reported at once", async () => {
    const events = await takeTurn(agentOn(chat, "http://127.0.0.1:1"));
    expect(of(events, "error")).toMatchObject([
      { name: "model_unavailable", message: "nothing listens at 127.0.0.1:1" },
    ]);
    expect(of(events, "notice")).toEqual([]);
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

it("a server that sends only the whole reply is understood", async () => {
  const output = [
    { type: "reasoning", id: "rs", summary: [{ type: "summary_text", text: "Hm." }], encrypted_content: "e" },
    { type: "message", id: "m", content: [{ type: "output_text", text: "All of it.", annotations: [] }] },
  ];
  const server = await serveWire([{ writes: [data({ ...completed, response: { output } })] }]);
  const events = await takeTurn(agentOn(responses, server.url));
  expect(of(events, "text_delta")).toEqual([{ text: "All of it." }]);
  expect(of(events, "thought_delta")).toEqual([{ text: "Hm." }]);
});
