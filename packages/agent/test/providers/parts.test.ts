/** The parts of a reply go back unchanged: in order, with their seals, and only to the model that made them. */
import type { Message } from "@chimera/acp-schema/events";
import { describe, expect, it } from "vitest";
import { createAgent, createConversation } from "../../src/index.js";
import { contextOf, toolNamed } from "../take-turn.js";
import { serveWire } from "./wire-server.js";
import { agentOn, anthropic, chat } from "./wires.js";

const look = toolNamed("look", async () => ({ success: true, output: "seen" }), { aliases: ["look_at"] });
const data = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

type Block = Record<string, unknown>;

/** A complete reply of Claude, made of blocks. */
function claude(stop_reason: string, ...blocks: Block[]): string {
  return data(
    { type: "message_start", message: {} },
    ...blocks.flatMap((block, index) => {
      const { input, thinking, text, signature, ...start } = block;
      const deltas = [
        thinking !== undefined && { type: "thinking_delta", thinking },
        signature !== undefined && { type: "signature_delta", signature },
        text !== undefined && { type: "text_delta", text },
        input !== undefined && { type: "input_json_delta", partial_json: JSON.stringify(input) },
      ].filter(Boolean);
      return [
        { type: "content_block_start", index, content_block: start },
        ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index },
      ];
    }),
    { type: "message_delta", delta: { stop_reason } },
    { type: "message_stop" },
  );
}

const thinking = (text: string, signature: string) => ({ type: "thinking", thinking: text, signature });
const use = (id: string, name = "look") => ({ type: "tool_use", id, name, input: { path: id } });
const MIXED = [
  thinking("first", "sig-1"),
  use("toolu_a"),
  { type: "text", text: "One." },
  { type: "text", text: "Two." },
  thinking("", "sig-2"),
  { type: "redacted_thinking", data: "b3BhcXVl" },
  use("toolu_b", "look_at"),
];

async function talk(replies: string[], prompts: string[], history: readonly Message[] = [], system = "A test.") {
  const server = await serveWire(replies.map((reply) => ({ writes: [reply] })));
  const agent = createAgent({ ...agentOn(anthropic, server.url), tools: [look], systemPrompt: system });
  const { workspace } = contextOf({});
  const conversation = createConversation(agent, { workspace, history, settings: { autoApproveWrites: true } });
  for (const prompt of prompts) for await (const _ of conversation.prompt(prompt));
  const messages = server.requests.map(({ body }) => body["messages"] as { role: string; content: Block[] }[]);
  return { messages, conversation };
}

const closing = claude("end_turn", thinking("done", "sig-3"), { type: "text", text: "Done." });
const bare = (blocks: Block[] | undefined) => blocks?.map(({ cache_control: _mark, ...block }) => block);

describe("Claude", () => {
  it("gets its blocks back in the order in which they came, texts not joined, in the next turn too (D1)", async () => {
    const { messages } = await talk([claude("tool_use", ...MIXED), closing], ["go", "and now?"]);
    expect(bare(messages[1]?.[1]?.content)).toEqual(MIXED);
    expect(bare(messages[2]?.[1]?.content)).toEqual(MIXED);
    expect(bare(messages[2]?.[3]?.content)).toEqual([thinking("done", "sig-3"), { type: "text", text: "Done." }]);
  });

  it("gets no thinking back once anything before it has changed (D1)", async () => {
    const { conversation } = await talk([claude("tool_use", ...MIXED), closing], ["go"]);
    const without = MIXED.filter(({ type }) => !type.endsWith("thinking"));
    const changed = await talk([closing], ["and now?"], conversation.messages, "Another test.");
    expect(bare(changed.messages[0]?.[1]?.content)).toEqual(without);
    expect(bare(changed.messages[0]?.[3]?.content)).toEqual([{ type: "text", text: "Done." }]);
    // Later thinking stays valid while nothing else changes.
    const next = await talk([closing], ["once more"], changed.conversation.messages, "Another test.");
    expect(bare(next.messages[0]?.[1]?.content)).toEqual(without);
    expect(bare(next.messages[0]?.[5]?.content)).toContainEqual(thinking("done", "sig-3"));
  });

  it("gets no seal of another model back, and no thinking as the last block", async () => {
    const seal = (model: string) => ({ provider: "anthropic", model, data: { type: "thinking", signature: "s" } });
    const history: Message[] = [
      { role: "user", text: "hi" },
      {
        role: "assistant",
        parts: [
          { type: "text", text: "Hello." },
          { type: "reasoning", text: "hm", seal: seal("claude-sonnet-4-6") },
          { type: "reasoning", text: "hm", seal: seal("claude-opus-4-1") },
        ],
      },
    ];
    const { messages } = await talk([closing], ["go"], history);
    expect(bare(messages[0]?.[1]?.content)).toEqual([{ type: "text", text: "Hello." }]);
  });
});

describe("a chat server", () => {
  const chunk = (delta: object, finish_reason: string | null = null) => data({ choices: [{ delta, finish_reason }] });

  it("gets arguments back byte for byte, and reasoning in its own field, only with calls", async () => {
    const args = '{ "path":"a.txt",  "n": 1.0 }';
    const call = { index: 0, id: "call_1", function: { name: "look_at", arguments: args } };
    const server = await serveWire(
      [
        chunk({ reasoning_content: "I sh" }) +
          chunk({ reasoning_content: "ould look." }) +
          chunk({ tool_calls: [call] }) +
          chunk({}, "tool_calls"),
        chunk({ reasoning_content: "Fine." }) + chunk({ content: "Done." }, "stop"),
        chunk({ content: "Yes." }, "stop"),
      ].map((reply) => ({ writes: [reply] })),
    );
    const agent = createAgent({ ...agentOn(chat, server.url), tools: [look] });
    const conversation = createConversation(agent, { workspace: contextOf({}).workspace });
    for (const prompt of ["go", "sure?"]) for await (const _ of conversation.prompt(prompt));
    const called = {
      role: "assistant",
      content: null,
      reasoning_content: "I should look.",
      tool_calls: [{ id: "call_1", type: "function", function: { name: "look_at", arguments: args } }],
    };
    const messages = server.requests.map(({ body }) => body["messages"] as object[]);
    expect(messages[1]?.[2]).toEqual(called);
    expect(messages[2]?.[2]).toEqual(called);
    expect(messages[2]?.[4]).toEqual({ role: "assistant", content: "Done." });
  });
});
