/** Pictures and models that cannot see, with vendors that refuse like the real ones. */
import type { Turn } from "@chimera/acp-schema/agent";
import type { AgentEvent, PromptBlock } from "@chimera/acp-schema/events";
import { describe, expect, it, onTestFinished } from "vitest";
import { anthropicFirst, createAgent } from "../../src/index.js";
import { createModels } from "../../src/providers/index.js";
import { contextOf, of, toolNamed, turnOf } from "../take-turn.js";
import { type ChatDialect, createChatVendor, deepseek, invalid, openaiChat } from "../vendors/chat-completions.js";
import { createOllama } from "../vendors/ollama.js";
import { type ModelReply, startVendor, type Vendor } from "../vendors/vendor.js";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const picture: PromptBlock = { type: "image", mimeType: "image/png", data: PNG } as PromptBlock;
const shown = { text: "what is this?", content: [{ type: "text", text: "what is this?" }, picture] as PromptBlock[] };
const photograph = toolNamed("photograph", async () => ({
  success: true,
  output: "taken",
  images: [{ mimeType: "image/png" as const, data: PNG }],
}));
const done: ModelReply = { says: [{ text: "Done." }] };

async function onVendor(vendor: Vendor, replies: readonly ModelReply[]) {
  const running = await startVendor(vendor, replies);
  onTestFinished(running.close);
  const models = createModels({ env: vendor.env(running.url), chain: anthropicFirst });
  const agent = createAgent({
    resolveModel: () => models(vendor.model),
    tools: [photograph],
    clock: { now: () => performance.now(), sleep: async () => {} },
  });
  const take = async (turn: Partial<Turn>) => {
    const events: AgentEvent[] = [];
    for await (const event of agent({ ...turnOf({}), ...turn }, contextOf({}))) events.push(event);
    return events;
  };
  return { running, take };
}

const pictures = (body: unknown) => JSON.stringify(body).split(PNG).length - 1;
const sentences = (body: unknown) => JSON.stringify(body).split("that you cannot see").length - 1;
const blind = (status: number, words: string): ChatDialect => ({
  ...openaiChat,
  // An unknown model.
  model: "in-house",
  blind: { status, words },
});

describe("a model that is known to be unable to see", () => {
  it.each([
    ["DeepSeek", () => createChatVendor(deepseek)],
    ["Ollama", () => createOllama()],
  ])("gets a sentence for each picture: %s", async (_name, create) => {
    const { running, take } = await onVendor(create(), [{ says: [{ call: "photograph", args: {} }] }, done]);
    const events = await take({ prompt: shown });
    expect(of(events, "agent_result")).toMatchObject([{ success: true, output: "Done." }]);
    expect(running.refused).toEqual([]);
    expect(running.answered.map(({ body }) => [pictures(body), sentences(body)])).toEqual([
      [0, 1],
      [0, 2],
    ]);
  });

  it("sums up a conversation with a picture, and continues it", async () => {
    const { running, take } = await onVendor(createChatVendor(deepseek), [done, done]);
    const history = [
      { role: "user" as const, ...shown },
      { role: "assistant" as const, parts: [{ type: "text" as const, text: "A dot." }] },
    ];
    expect(of(await take({ history, number: 1, compact: { focus: "" } }), "agent_result")).toMatchObject([
      { success: true },
    ]);
    expect(of(await take({ history, number: 1 }), "agent_result")).toMatchObject([{ success: true }]);
    expect(running.refused).toEqual([]);
  });
});

describe("a model that says it cannot see", () => {
  it.each([
    ["OpenAI, vllm-project/vllm#11629", 400, "Invalid content type. image_url is only supported by certain models."],
    ["OpenRouter, nexu-io/nexu#875", 404, "No endpoints found that support image input"],
    ["Ollama's cloud, ollama/ollama#17301", 400, "this model does not support image input (ref: b8bd630e)"],
    [
      "LM Studio, lmstudio-ai/lmstudio-bug-tracker#473",
      400,
      "Model does not support images. Please use a model that does.",
    ],
    [
      "llama.cpp, ggml-org/llama.cpp#15377",
      500,
      "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
    ],
    [
      "llama.cpp, ggml-org/llama.cpp#12947",
      500,
      'Failed to parse messages: Unsupported content part type: "image_url"',
    ],
    ["vLLM, vllm-project/vllm#23402", 400, "/models/intern-s1 is not a multimodal model None"],
    ["DeepSeek, rikkahub/rikkahub#1433", 400, deepseek.blind?.words ?? ""],
    [
      "DeepSeek, browser-use/browser-use#159",
      422,
      "Failed to deserialize the JSON body into the target type: messages[2]: data did not match any variant of untagged enum ChatCompletionRequestContent at line 1 column 15700",
    ],
    [
      "DeepSeek, chatboxai/chatbox#1740",
      422,
      "Failed to deserialize the JSON body into the target type: messages[2]: invalid type: sequence, expected a string at line 1 column 2901",
    ],
  ])("gets a picture once and never again: %s", async (_who, status, words) => {
    const { running, take } = await onVendor(createChatVendor(blind(status, words)), [done, done, done]);
    for (const sessionId of ["s-1", "s-1", "s-2"])
      expect(of(await take({ sessionId, prompt: shown }), "agent_result")).toMatchObject([{ success: true }]);
    expect(running.refused).toEqual([words]);
  });

  it("still gets pictures when only one session's picture is refused, whatever the message", async () => {
    const refusing = createChatVendor(blind(400, "Invalid request parameters."));
    const { running, take } = await onVendor(refusing, [done, done, done]);
    expect(of(await take({ sessionId: "s-1", prompt: shown }), "agent_result")).toMatchObject([{ success: true }]);
    expect(of(await take({ sessionId: "s-1", prompt: shown }), "agent_result")).toMatchObject([{ success: true }]);
    expect(running.refused).toHaveLength(1);
    expect(of(await take({ sessionId: "s-2", prompt: shown }), "agent_result")).toMatchObject([{ success: true }]);
    expect(running.refused).toHaveLength(2);
  });

  it("gets its pictures again after a refusal that had another reason", async () => {
    let broken = true;
    const dialect: ChatDialect = {
      ...openaiChat,
      check: () => {
        if (broken) invalid("Invalid schema for function 'photograph'");
      },
    };
    const { running, take } = await onVendor(createChatVendor(dialect), [done]);
    expect(of(await take({ prompt: shown }), "error")).toMatchObject([{ name: "bad_request" }]);
    broken = false;
    expect(of(await take({ prompt: shown }), "agent_result")).toMatchObject([{ success: true }]);
    expect(running.answered.map(({ body }) => pictures(body))).toEqual([1]);
  });
});
