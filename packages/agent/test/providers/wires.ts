/** The same conversation in each vendor's wire format. */
import { type AgentOptions, anthropicFirst } from "../../src/index.js";
import { createModels, createPost, type Env } from "../../src/providers/index.js";

export interface WireFormat {
  readonly name: string;
  readonly path: string;
  readonly model: string;
  env(url: string): Env;
  /** Thinks, writes text, and calls two tools at once. */
  readonly calling: string;
  /** Writes text and stops. */
  readonly closing: string;
  text(deltas: readonly string[]): string;
  /** The first piece of a text, and nothing after it. */
  opening(text: string): string;
  /** Null when the format cannot report it. */
  readonly refusing: string | null;
  readonly tooLong: string;
  /** An error the service reports inside a stream. */
  readonly failing: string;
  readonly overflow: { readonly status: number; readonly body: string };
  readonly keepAlive: string;
  /** Whether the last event ends a reply. Otherwise the end of the connection does. */
  readonly endsByEvent: boolean;
  /** Whether the price of the model is known. */
  readonly priced: boolean;
  /** Input, output, cached and all tokens of a reply, as far as this format reports them. */
  readonly usage: readonly [number, number, number, number];
  /** What the request says about the results of the two calls, in order. */
  resultsIn(body: Record<string, unknown>): unknown[];
}

const json = JSON.stringify;

/** The content of the replies, piece by piece. */
export const said = {
  thoughts: ["I should ", "look – 見る."],
  texts: ["Reading ", "both ", "files 📁 "],
  calls: [
    { id: "call_a", name: "look", pieces: ['{"pa', 'th":"a.txt"', "}"] },
    { id: "call_b", name: "look", pieces: ['{"path":', '"b.txt"}'] },
  ],
  closing: ["All ", "good.\n"],
};

const event = (value: { type: string } & Record<string, unknown>): string =>
  `event: ${value.type}\ndata: ${json(value)}\n\n`;
const messageStart = event({
  type: "message_start",
  message: {
    id: "m",
    role: "assistant",
    content: [],
    usage: { input_tokens: 40, cache_read_input_tokens: 60, output_tokens: 1 },
  },
});
const block = (index: number, content_block: object, deltas: readonly object[]): string =>
  event({ type: "content_block_start", index, content_block }) +
  deltas.map((delta) => event({ type: "content_block_delta", index, delta })).join("") +
  event({ type: "content_block_stop", index });
const textBlock = (index: number, texts: readonly string[]): string =>
  block(
    index,
    { type: "text", text: "" },
    texts.map((text) => ({ type: "text_delta", text })),
  );
const messageEnd = (stop_reason: string, output_tokens = 25): string =>
  event({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens } }) +
  event({ type: "message_stop" });

export const anthropic: WireFormat = {
  name: "anthropic",
  path: "/v1/messages",
  model: "claude-sonnet-4-6",
  env: (url) => ({ ANTHROPIC_API_KEY: "key-a", ANTHROPIC_BASE_URL: url }),
  calling:
    messageStart +
    block(0, { type: "thinking", thinking: "", signature: "" }, [
      ...said.thoughts.map((thinking) => ({ type: "thinking_delta", thinking })),
      { type: "signature_delta", signature: "c2lnbmVk" },
    ]) +
    event({ type: "ping" }) +
    textBlock(1, said.texts) +
    said.calls
      .map(({ id, name, pieces }, n) =>
        block(2 + n, { type: "tool_use", id, name, input: {} }, [
          { type: "input_json_delta", partial_json: "" },
          ...pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
        ]),
      )
      .join("") +
    messageEnd("tool_use"),
  closing: messageStart + textBlock(0, said.closing) + messageEnd("end_turn"),
  text: (deltas) => messageStart + textBlock(0, deltas) + messageEnd("end_turn"),
  opening: (text) =>
    messageStart +
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }) +
    event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
  refusing: messageStart + textBlock(0, ["I can't."]) + messageEnd("refusal"),
  tooLong: messageStart + textBlock(0, ["And so on and"]) + messageEnd("max_tokens"),
  failing: event({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
  overflow: {
    status: 400,
    body: json({
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 200001 tokens" },
    }),
  },
  keepAlive: event({ type: "ping" }),
  endsByEvent: true,
  priced: true,
  usage: [40, 25, 60, 125],
  resultsIn: (body) => {
    const last = (body["messages"] as { content: { type: string; content: { text: string }[] }[] }[]).at(-1);
    return (last?.content ?? []).filter((part) => part.type === "tool_result").map((part) => part.content[0]?.text);
  },
};

const chunk = (delta: object, finish_reason: string | null = null): string =>
  `data: ${json({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const chatUsage = `data: ${json({
  id: "c",
  choices: [],
  usage: { prompt_tokens: 100, completion_tokens: 25, prompt_tokens_details: { cached_tokens: 60 } },
})}\n\n`;
const chatStart = chunk({ role: "assistant", content: "" });
const chatEnd = (finish: string): string => `${chunk({}, finish)}${chatUsage}data: [DONE]\n\n`;

export const chat: WireFormat = {
  name: "chat completions",
  path: "/v1/chat/completions",
  model: "gpt-4o",
  env: (url) => ({ OPENAI_API_KEY: "key-o", OPENAI_BASE_URL: `${url}/v1/` }),
  calling:
    chatStart +
    said.thoughts.map((reasoning_content) => chunk({ reasoning_content })).join("") +
    said.texts.map((content) => chunk({ content })).join("") +
    said.calls
      .flatMap(({ id, name, pieces }, index) => [
        chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
        ...pieces.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
      ])
      .join("") +
    chatEnd("tool_calls"),
  closing: chatStart + said.closing.map((content) => chunk({ content })).join("") + chatEnd("stop"),
  text: (deltas) => chatStart + deltas.map((content) => chunk({ content })).join("") + chatEnd("stop"),
  opening: (text) => chatStart + chunk({ content: text }),
  refusing: chatStart + chunk({ content: "I can't." }) + chatEnd("content_filter"),
  tooLong: chatStart + chunk({ content: "And so on and" }) + chatEnd("length"),
  failing: `data: ${json({ error: { message: "Overloaded", type: "server_error", code: null } })}\n\n`,
  overflow: {
    status: 400,
    body: json({
      error: {
        message: "maximum context length is 128000",
        type: "invalid_request_error",
        code: "context_length_exceeded",
      },
    }),
  },
  keepAlive: ": still here\n\n",
  endsByEvent: true,
  priced: true,
  usage: [40, 25, 60, 125],
  resultsIn: (body) =>
    (body["messages"] as { role: string; content: unknown }[])
      .filter((message) => message.role === "tool")
      .map((message) => message.content),
};

const responseEvent = (type: string, more: object = {}): string =>
  `event: ${type}\ndata: ${json({ type, ...more })}\n\n`;
const item = (output_index: number, done: object, deltas: readonly string[] = []): string =>
  responseEvent("response.output_item.added", { output_index, item: done }) +
  deltas.join("") +
  responseEvent("response.output_item.done", { output_index, item: done });
const messageItem = (index: number, texts: readonly string[]): string =>
  item(
    index,
    { type: "message", id: `msg_${index}`, content: [{ type: "output_text", text: texts.join(""), annotations: [] }] },
    texts.map((delta) => responseEvent("response.output_text.delta", { delta })),
  );
const responseStart = responseEvent("response.created", { response: { id: "resp" } });
const responseUsage = { input_tokens: 100, input_tokens_details: { cached_tokens: 60 }, output_tokens: 25 };
const responseEnd = (more: object = {}): string =>
  responseEvent(`response.${"incomplete_details" in more ? "incomplete" : "completed"}`, {
    response: { usage: responseUsage, ...more },
  });

export const responses: WireFormat = {
  name: "responses",
  path: "/openai/v1/responses",
  model: "azure/gpt-4o",
  env: (url) => ({ AZURE_OPENAI_API_KEY: "key-z", AZURE_OPENAI_ENDPOINT: url }),
  calling:
    responseStart +
    item(
      0,
      {
        type: "reasoning",
        id: "rs_0",
        summary: [{ type: "summary_text", text: said.thoughts.join("") }],
        encrypted_content: "e",
      },
      said.thoughts.map((delta) => responseEvent("response.reasoning_summary_text.delta", { delta })),
    ) +
    messageItem(1, said.texts) +
    said.calls
      .map(({ id, name, pieces }, n) =>
        item(
          2 + n,
          { type: "function_call", id: `fc_${n}`, call_id: id, name, arguments: pieces.join("") },
          pieces.map((delta) => responseEvent("response.function_call_arguments.delta", { delta })),
        ),
      )
      .join("") +
    responseEnd(),
  closing: responseStart + messageItem(0, said.closing) + responseEnd(),
  text: (deltas) => responseStart + messageItem(0, deltas) + responseEnd(),
  opening: (text) => responseStart + responseEvent("response.output_text.delta", { delta: text }),
  refusing:
    responseStart + messageItem(0, ["I can't."]) + responseEnd({ incomplete_details: { reason: "content_filter" } }),
  tooLong:
    responseStart +
    messageItem(0, ["And so on and"]) +
    responseEnd({ incomplete_details: { reason: "max_output_tokens" } }),
  failing: responseEvent("response.failed", { response: { error: { code: "server_error", message: "Overloaded" } } }),
  overflow: chat.overflow,
  keepAlive: ": still here\n\n",
  endsByEvent: true,
  priced: true,
  usage: [40, 25, 60, 125],
  resultsIn: (body) =>
    (body["input"] as { type?: string; output: unknown }[])
      .filter(({ type }) => type === "function_call_output")
      .map(({ output }) => output),
};

const candidate = (parts: readonly object[], finishReason?: string): string =>
  `data: ${json({
    candidates: [{ content: { role: "model", parts }, ...(finishReason && { finishReason }) }],
    usageMetadata: { promptTokenCount: 100, cachedContentTokenCount: 60, candidatesTokenCount: 25 },
  })}\n\n`;

export const gemini: WireFormat = {
  name: "gemini",
  path: "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
  model: "gemini-2.5-flash",
  env: (url) => ({ GEMINI_API_KEY: "key-g", GEMINI_BASE_URL: url }),
  calling:
    said.thoughts.map((text) => candidate([{ text, thought: true }])).join("") +
    said.texts.map((text) => candidate([{ text }])).join("") +
    said.calls
      .map(({ id, name, pieces }) => candidate([{ functionCall: { id, name, args: JSON.parse(pieces.join("")) } }]))
      .join("") +
    candidate([], "STOP"),
  closing: said.closing.map((text) => candidate([{ text }])).join("") + candidate([], "STOP"),
  text: (deltas) => deltas.map((text) => candidate([{ text }])).join("") + candidate([], "STOP"),
  opening: (text) => candidate([{ text }]),
  refusing: candidate([{ text: "I can't." }]) + candidate([], "SAFETY"),
  tooLong: candidate([{ text: "And so on and" }], "MAX_TOKENS"),
  failing: `data: ${json({ error: { code: 503, message: "Overloaded", status: "UNAVAILABLE" } })}\n\n`,
  overflow: {
    status: 400,
    body: json({ error: { code: 400, message: "the prompt exceeds the context window", status: "INVALID_ARGUMENT" } }),
  },
  keepAlive: ": still here\n\n",
  endsByEvent: false,
  priced: true,
  usage: [40, 25, 60, 125],
  resultsIn: (body) =>
    (body["contents"] as { parts: { functionResponse?: { response: Record<string, unknown> } }[] }[])
      .flatMap(({ parts }) => parts)
      .flatMap(({ functionResponse }) => (functionResponse ? Object.values(functionResponse.response) : [])),
};

const line = (message: object, more: object = { done: false }): string =>
  `${json({ model: "m", message: { role: "assistant", content: "", ...message }, ...more })}\n`;
const lastLine = (done_reason = "stop"): string =>
  line({}, { done: true, done_reason, prompt_eval_count: 100, eval_count: 25 });

export const ollama: WireFormat = {
  name: "ollama",
  path: "/api/chat",
  model: "qwen3:8b",
  env: (url) => ({ OLLAMA_HOST: url }),
  calling:
    said.thoughts.map((thinking) => line({ thinking })).join("") +
    said.texts.map((content) => line({ content })).join("") +
    said.calls
      .map(({ id, name, pieces }) =>
        line({ tool_calls: [{ id, function: { name, arguments: JSON.parse(pieces.join("")) } }] }),
      )
      .join("") +
    lastLine(),
  closing: said.closing.map((content) => line({ content })).join("") + lastLine(),
  text: (deltas) => deltas.map((content) => line({ content })).join("") + lastLine(),
  opening: (text) => line({ content: text }),
  refusing: null,
  tooLong: line({ content: "And so on and" }) + lastLine("length"),
  failing: `${json({ error: "Overloaded" })}\n`,
  overflow: { status: 400, body: json({ error: "prompt too long; exceeded max context length by 4 tokens" }) },
  keepAlive: "\n",
  endsByEvent: true,
  priced: false,
  usage: [100, 25, 0, 125],
  resultsIn: chat.resultsIn,
};

export const wires = [anthropic, chat, responses, gemini, ollama];

/** An agent on that wire, without waits between retries. */
export function agentOn(wire: WireFormat, url: string, idleMs = 5_000): AgentOptions {
  const models = createModels({ env: wire.env(url), chain: anthropicFirst, post: createPost({ idleMs }) });
  return {
    resolveModel: () => models(wire.model),
    clock: { now: () => performance.now(), sleep: async () => {} },
    systemPrompt: "You are a test.",
  };
}
