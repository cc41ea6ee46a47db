/** Streams that vendors and compatible servers really send, each with something that a reader may stumble over. */
import { expect, it } from "vitest";
import { of, takeTurn, textOf, toolNamed } from "../take-turn.js";
import { serveWire } from "./wire-server.js";
import { agentOn, anthropic, chat, gemini, responses, type WireFormat } from "./wires.js";

const data = (...events: unknown[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const DONE = "data: [DONE]\n\n";
const A = '{"path":"a"}';
const B = '{"path":"b"}';

const choice = (delta: unknown, finish_reason: unknown = null) => ({ choices: [{ index: 0, delta, finish_reason }] });
const called = { name: "look" };
const calls = (...tool_calls: unknown[]) => choice({ tool_calls });
const whole = (index: unknown, id: unknown, args: unknown) => ({ index, id, function: { ...called, arguments: args } });
const more = (index: unknown, args: string, id?: string) => ({ index, id, function: { arguments: args } });
const end = data(choice({}, "tool_calls")) + DONE;
const stop = data(choice({}, "stop")) + DONE;

const use = (index: number, id: string, input: object = {}) => ({
  type: "content_block_start",
  index,
  content_block: { type: "tool_use", id, name: "look", input },
});
const piece = (index: number, partial_json: string) => ({
  type: "content_block_delta",
  index,
  delta: { type: "input_json_delta", partial_json },
});
const over = (index: number) => ({ type: "content_block_stop", index });
const used = [{ type: "message_delta", delta: { stop_reason: "tool_use" } }, { type: "message_stop" }];
const said = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hi" } };

const blocks = (content_block: object, ...deltas: object[]) =>
  data(
    { type: "content_block_start", index: 0, content_block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index: 0, delta })),
    over(0),
    { type: "message_stop" },
  );

const item = (id: string, args: unknown) => ({
  type: "function_call",
  id: `fc_${id}`,
  call_id: id,
  name: "look",
  arguments: args,
});
const added = { type: "response.output_item.added", output_index: 0, item: item("a", "") };
const done = (args: unknown) => ({ type: "response.output_item.done", output_index: 0, item: item("a", args) });
const completed = { type: "response.completed", response: {} };

const TOOL_CALLS: readonly (readonly [string, WireFormat, string, readonly string[]])[] = [
  [
    "fragments of two calls in turn",
    chat,
    data(
      calls(whole(0, "a", "")),
      calls(whole(1, "b", "")),
      calls(more(1, B), more(0, '{"path"')),
      calls(more(0, ':"a"}')),
    ) + end,
    ["a", "b"],
  ],
  [
    "whole calls with one index and no ids",
    chat,
    data(calls(whole(0, undefined, A)), calls(whole(0, undefined, B))) + end,
    ["a", "b"],
  ],
  ["whole calls with one index and empty ids", chat, data(calls(whole(0, "", A), whole(0, "", B))) + end, ["a", "b"]],
  [
    "whole calls without index and ids",
    chat,
    data(calls(whole(undefined, undefined, A)), calls(whole(null, null, B))) + end,
    ["a", "b"],
  ],
  [
    "another id in each fragment",
    chat,
    data(calls(whole(0, "r1", "")), calls(more(0, '{"path":', "r2")), calls(more(0, '"a"}', "r3"))) + end,
    ["a"],
  ],
  ["a call that is repeated whole", chat, data(calls(whole(0, "a", A)), calls(whole(0, "a", A))) + end, ["a"]],
  ["arguments that are an object", chat, data(calls(whole(0, "a", { path: "a" }))) + end, ["a"]],
  ["arguments that are encoded twice", chat, data(calls(whole(0, "a", JSON.stringify(A)))) + end, ["a"]],
  ["an end mark, but no reason", chat, data(calls(whole(0, "a", A))) + DONE, ["a"]],
  [
    "blocks side by side",
    anthropic,
    data(use(0, "a"), use(1, "b"), piece(0, '{"path":'), piece(1, B), piece(0, '"a"}'), over(0), over(1), ...used),
    ["a", "b"],
  ],
  [
    "blocks with the same index, which do not end",
    anthropic,
    data(use(0, "a"), piece(0, A), use(0, "b"), piece(0, B), ...used),
    ["a", "b"],
  ],
  [
    "an input both whole and in pieces",
    anthropic,
    data(use(0, "a", { path: "a" }), piece(0, A), over(0), ...used),
    ["a"],
  ],
  [
    "arguments only in pieces",
    responses,
    data(added, { type: "response.function_call_arguments.delta", item_id: "fc_a", delta: A }, done(""), completed),
    ["a"],
  ],
  ["an item that is an object", responses, data(added, done({ path: "a" }), completed), ["a"]],
  ["an item that ends twice", responses, data(added, done(A), done(A), completed), ["a"]],
];

it.each(TOOL_CALLS)("runs each call once: %s", async (_, wire, stream, paths) => {
  const server = await serveWire([{ writes: [stream] }, { writes: [wire.closing] }]);
  const seen: unknown[] = [];
  const look = toolNamed("look", async ({ path }) => {
    seen.push(path);
    return { success: true, output: "ok" };
  });
  const events = await takeTurn({ ...agentOn(wire, server.url), tools: [look] });
  expect(seen).toEqual(paths);
  expect(of(events, "notice")).toEqual([]);
  expect(server.requests).toHaveLength(2);
});

const itemOver = (type: string, id: string, more: object, output_index?: number) => ({
  type: "response.output_item.done",
  output_index,
  item: { type, id, ...more },
});
const message = (text: string) => ({ content: [{ type: "output_text", text }] });
const streamedHi = data(choice({ content: "h" }), choice({ content: "i" }), choice({}, "stop"));

const TEXTS: readonly (readonly [string, WireFormat, string])[] = [
  ["an end mark, but no reason", chat, data(choice({ content: "hi" })) + DONE],
  ["blanks around the end mark", chat, `${data(choice({ content: "hi" }), choice({}, "stop"))}data:  [DONE] \n\n`],
  ["events without data", chat, `data:\n\n${data(choice({ content: "hi" }))}data: \n\n${stop}`],
  ["no line end after the last event", chat, data(choice({ content: "hi" }), choice({}, "stop")).trimEnd()],
  ["no line end after the end mark", chat, `${data(choice({ content: "hi" }))}data: [DONE]`],
  [
    "no empty line between events",
    chat,
    data(choice({ content: "h" }), choice({ content: "i" })).replace("\n\n", "\n") + stop,
  ],
  [
    "an end mark in the lines of the last event",
    chat,
    `${data(choice({ content: "h" }), choice({ content: "i" }, "stop")).trimEnd()}\n${DONE}`,
  ],
  ["no empty lines at all", chat, (streamedHi + DONE).replaceAll("\n\n", "\n")],
  ["no empty lines and no end mark", chat, streamedHi.replaceAll("\n\n", "\n")],
  ["no empty lines, and a last one that was cut off", chat, `${streamedHi.replaceAll("\n\n", "\n")}data: {"cho`],
  [
    "a whole message after its deltas",
    chat,
    data(choice({ content: "h" }), choice({ content: "i" }), {
      choices: [{ message: { content: "hi" }, finish_reason: "stop" }],
    }) + DONE,
  ],
  [
    "reasoning and a message with one id",
    responses,
    data(
      itemOver("reasoning", "x", { summary: [{ type: "summary_text", text: "Hm." }] }),
      itemOver("message", "x", message("hi")),
      completed,
    ),
  ],
  [
    "two messages with one id, and both again at the end",
    responses,
    data(itemOver("message", "x", message("h"), 0), itemOver("message", "x", message("i"), 1), {
      type: "response.completed",
      response: { output: ["h", "i"].map((text) => ({ type: "message", id: "x", ...message(text) })) },
    }),
  ],
  [
    "a message without an index, again at the end",
    responses,
    data(itemOver("message", "x", message("hi")), {
      type: "response.completed",
      response: { output: [{ type: "message", id: "x", ...message("hi") }] },
    }),
  ],
  [
    "a block that begins with its text",
    anthropic,
    blocks({ type: "text", text: "h" }, { type: "text_delta", text: "i" }),
  ],
  [
    "a block whose text is repeated in pieces",
    anthropic,
    blocks({ type: "text", text: "hi" }, { type: "text_delta", text: "h" }, { type: "text_delta", text: "i" }),
  ],
  ["a block with its text alone", anthropic, blocks({ type: "text", text: "hi" })],
  ["a message in place of a delta", chat, data({ choices: [{ message: { content: "hi" }, finish_reason: "stop" }] })],
  [
    "a list of parts",
    chat,
    data(
      choice({
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
          { type: "text", text: "hi" },
        ],
      }),
    ) + stop,
  ],
  ["carriage returns alone", chat, (data(choice({ content: "hi" })) + stop).replaceAll("\n", "\r")],
  ["an end mark of another vendor", anthropic, data(said) + DONE],
  [
    "no line end after the last event",
    gemini,
    data({ candidates: [{ content: { parts: [{ text: "hi" }] }, finishReason: "STOP" }] }).trimEnd(),
  ],
];

it.each(TEXTS)("reads %s", async (_, wire, stream) => {
  const server = await serveWire([{ writes: [stream] }]);
  const events = await takeTurn(agentOn(wire, server.url));
  expect(textOf(events)).toBe("hi");
  expect(of(events, "notice")).toEqual([]);
  expect(of(events, "turn_end")).toEqual([{ stop_reason: "end_turn" }]);
});

it("sends thinking back once that came at the start of its block and again in pieces", async () => {
  const thinking = data(
    { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "Hm.", signature: "S" } },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
    { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "S" } },
    over(0),
    use(1, "a"),
    over(1),
    ...used,
  );
  const server = await serveWire([{ writes: [thinking] }, { writes: [anthropic.closing] }]);
  const look = toolNamed("look", async () => ({ success: true, output: "ok" }));
  await takeTurn({ ...agentOn(anthropic, server.url), tools: [look] });
  const { messages } = server.requests[1]!.body as { messages: { content: object[] }[] };
  expect(messages[1]!.content[0]).toEqual({ type: "thinking", thinking: "Hm.", signature: "S" });
});

it("understands an error that has no field of its own", async () => {
  const error = { object: "error", message: "the engine is dead", type: "server_error", code: 500 };
  const server = await serveWire([{ writes: [data(error) + DONE] }, { writes: [chat.closing] }]);
  expect(of(await takeTurn(agentOn(chat, server.url)), "notice")[0]?.text).toContain("the engine is dead");
});

it("takes no time for arguments in many pieces", async () => {
  const pieces = Array.from({ length: 20_000 }, () => calls(more(0, "{}\\n  padding")));
  const stream = data(calls(whole(0, "a", '{"path":"a","x":"')), ...pieces, calls(more(0, '"}'))) + end;
  const server = await serveWire([{ writes: [stream] }, { writes: [chat.closing] }]);
  const look = toolNamed("look", async () => ({ success: true, output: "ok" }));
  const started = process.cpuUsage();
  const events = await takeTurn({ ...agentOn(chat, server.url), tools: [look] });
  const { user, system } = process.cpuUsage(started);
  expect(of(events, "tool_result")).toMatchObject([{ success: true }]);
  expect((user + system) / 1000).toBeLessThan(2_000);
});

const refusal = (body: object) => ({ status: 400, writes: [JSON.stringify(body)] });
const ofGemini = (message: string) => refusal({ error: { code: 400, status: "INVALID_ARGUMENT", message } });
const ofAnthropic = (message: string) => refusal({ type: "error", error: { type: "invalid_request_error", message } });

it.each([
  [
    "a call without a signature, and the placeholder for it",
    gemini,
    (round: number) =>
      ofGemini(
        round % 2
          ? "Invalid thought signature."
          : "Function call is missing a thought_signature in functionCall parts.",
      ),
    5,
  ],
  [
    "each limit that it named before",
    anthropic,
    (round: number) =>
      ofAnthropic(`max_tokens: 64000 > ${1000 - round}, which is the maximum allowed number of output tokens`),
    12,
  ],
] as const)(
  "a server that refuses %s is asked a few times, and then its refusal is shown",
  async (_, wire, refused, most) => {
    const server = await serveWire([
      ...Array.from({ length: 40 }, (_, round) => refused(round)),
      { writes: [wire.closing] },
    ]);
    const events = await takeTurn(agentOn(wire, server.url));
    expect(of(events, "agent_result")).toMatchObject([{ success: false }]);
    expect(server.requests.length).toBeLessThanOrEqual(most);
  },
);
