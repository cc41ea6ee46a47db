/** Shows that the vendors are strict: they refuse a conversation that they answered before, changed in one place. */
import { expect, it, onTestFinished } from "vitest";
import { anthropicFirst, createAgent, createConversation } from "../../src/index.js";
import { createModels } from "../../src/providers/index.js";
import { contextOf, toolNamed } from "../take-turn.js";
import { createChatVendor, deepseek, geminiChat, openaiChat, openrouter } from "./chat-completions.js";
import { createClaude } from "./claude.js";
import { createGemini } from "./gemini.js";
import { createOllama } from "./ollama.js";
import { createAzure } from "./openai-responses.js";
import { type Loose, type ModelReply, startVendor, type Vendor } from "./vendor.js";

const look = toolNamed("look", async () => ({ success: true, output: "seen" }));
const call = (path: string) => ({ call: "look", args: { path } });
const replies: ModelReply[] = [
  { says: [{ reasoning: "Plan." }, { text: "Looking." }, call("a"), call("b")] },
  { says: [{ reasoning: "On." }, { text: "Next." }, { reasoning: "Hm." }, call("c")] },
  { says: [{ text: "Done." }] },
];

/** Has the conversation, then sends its last request again unchanged and changed. Returns the answer to the change. */
async function changed(vendor: Vendor, change: (body: Loose) => void): Promise<string> {
  const running = await startVendor(vendor, [...replies, { says: [{ text: "Again." }] }, { says: [{ text: "No." }] }]);
  onTestFinished(running.close);
  const models = createModels({ env: vendor.env(running.url), chain: anthropicFirst });
  const agent = createAgent({ resolveModel: () => models(vendor.model), tools: [look], systemPrompt: "A test." });
  const conversation = createConversation(agent, { workspace: contextOf({}).workspace });
  for await (const _ of conversation.prompt("go"));
  const { path, headers, body } = running.answered.at(-1) as (typeof running.answered)[number];
  const send = async (sent: object) => {
    const { "content-length": _length, host: _host, connection: _connection, ...kept } = headers;
    const init = { method: "POST", headers: kept as Record<string, string>, body: JSON.stringify(sent) };
    const reply = await fetch(running.url + path, init);
    await reply.text();
    return reply.status;
  };
  expect(running.refused).toEqual([]);
  expect(await send(body)).toBe(200);
  const other = structuredClone(body);
  change(other);
  expect(await send(other)).toBeGreaterThanOrEqual(400);
  return running.refused.join("\n");
}

const remove = (list: Loose[], fits: (one: Loose) => boolean, times = 1) => {
  for (let n = 0; n < times; n++) list.splice(list.findIndex(fits), 1);
};
const last = (body: Loose) => body.messages[3].content;

it.each<[string, () => Vendor, RegExp, (body: Loose) => void]>([
  ["a signature altered", createClaude, /Invalid `signature`/, (body) => (last(body)[0].signature += "x")],
  ["thinking altered", createClaude, /Invalid `signature`/, (body) => (last(body)[0].thinking = "Other.")],
  [
    "thinking moved to the front",
    createClaude,
    /cannot be modified/,
    (body) => last(body).splice(1, 0, ...last(body).splice(2, 1)),
  ],
  ["thinking left out between others", createClaude, /cannot be modified/, (body) => last(body).splice(2, 1)],
  ["texts joined", createClaude, /cannot be modified/, (body) => (last(body)[1].text += " ")],
  [
    "the system text changed",
    createClaude,
    /bound to a different conversation/,
    (body) => (body.system[0].text += "!"),
  ],
  ["a tool changed", createClaude, /bound to a different conversation/, (body) => (body.tools[0].description += "!")],
  [
    "an earlier result changed",
    createClaude,
    /bound to a different/,
    (body) => (body.messages[2].content[0].content[0].text = "x"),
  ],
  [
    "thinking at the end",
    createClaude,
    /final block/,
    (body) => body.messages[3].content.splice(3) && body.messages.pop(),
  ],
  ["no result for a call", createClaude, /without `tool_result`/, (body) => body.messages[2].content.pop()],
  ["a blank text", createClaude, /non-whitespace/, (body) => (body.messages[0].content[0].text = "\n")],
  ["no max_tokens", createClaude, /Field required/, (body) => delete body.max_tokens],
  [
    "five marks",
    createClaude,
    /maximum of 4/,
    (body) => body.messages[4].content.unshift(...Array(4).fill({ ...body.messages[0].content[0], cache_control: {} })),
  ],
  ["a budget", createClaude, /adaptive/, (body) => (body.thinking = { type: "enabled", budget_tokens: 2000 })],

  [
    "reasoning without its content",
    () => createAzure(),
    /not persisted/,
    (body) => delete body.input[1].encrypted_content,
  ],
  ["content altered", () => createAzure(), /could not be verified/, (body) => (body.input[1].encrypted_content += "x")],
  [
    "reasoning after its item",
    createAzure,
    /required (following|.reasoning.) item/,
    (body) => body.input.splice(2, 0, ...body.input.splice(1, 1)),
  ],
  [
    "reasoning left out",
    createAzure,
    /required 'reasoning' item/,
    (body) => remove(body.input, ({ type }) => type === "reasoning"),
  ],
  [
    "an output left out",
    createAzure,
    /No tool output/,
    (body) => remove(body.input, ({ type }) => type === "function_call_output"),
  ],
  [
    "a call left out",
    createAzure,
    /required following|No tool call/,
    (body) => remove(body.input, ({ type }) => type === "function_call"),
  ],
  [
    "a phase left out",
    createAzure,
    /required following/,
    (body) => delete body.input.find((item: Loose) => item.phase).phase,
  ],
  ["a parameter nobody knows", () => createAzure(), /Unknown parameter/, (body) => (body.max_tokens = 5)],

  [
    "a signature left out",
    createGemini,
    /missing a thought_signature/,
    (body) => delete body.contents[1].parts[1].thoughtSignature,
  ],
  ["a signature on the other call", createGemini, /Corrupted|missing/, (body) => body.contents[1].parts.reverse()],
  ["a response left out", createGemini, /number of function response parts/, (body) => body.contents[2].parts.pop()],
  ["a field nobody knows", createGemini, /Unknown name/, (body) => (body.contents[0].parts[0].type = "text")],

  [
    "reasoning left out",
    () => createChatVendor(deepseek),
    /must be passed back/,
    (body) => delete body.messages[2].reasoning_content,
  ],
  [
    "a result left out",
    () => createChatVendor(deepseek),
    /did not have response/,
    (body) => remove(body.messages, ({ role }) => role === "tool"),
  ],
  [
    "details altered",
    () => createChatVendor(openrouter),
    /signature/,
    (body) => (body.messages[2].reasoning_details[0].text = "x"),
  ],
  [
    "a signature left out",
    () => createChatVendor(geminiChat),
    /missing a thought_signature/,
    (body) => delete body.messages[2].tool_calls[0].extra_content,
  ],
  [
    "a field nobody knows",
    () => createChatVendor(openaiChat),
    /unexpected/,
    (body) => (body.messages[2].reasoning_content = "x"),
  ],

  [
    "arguments as text",
    createOllama,
    /cannot unmarshal/,
    (body) => (body.messages[2].tool_calls[0].function.arguments = "{}"),
  ],
])("%s (%#)", async (_what, create, words, change) => {
  expect(await changed(create(), change)).toMatch(words);
});
