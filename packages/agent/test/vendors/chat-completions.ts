/**
 * Vendors of Chat Completions (https://platform.openai.com/docs/api-reference/chat): OpenAI, and those with additions that must come
 * back. A dialect describes a vendor's additions to replies, and checks that requests bring them back.
 */
import type { Loose, ModelReply, Said, Vendor } from "./vendor.js";
import { argsText, createIds, piecesOf, Refusal, sealOf, sse, unknownKey } from "./vendor.js";

export interface ChatDialect {
  readonly name: string;
  readonly model: string;
  env(url: string): Record<string, string>;
  /** Fields of requests in addition to OpenAI's. */
  readonly fields?: readonly string[];
  /** The model's output limit. */
  readonly maxOutput?: number;
  /** The refusal of pictures. */
  readonly blind?: { readonly status: number; readonly words: string };
  /** Fields of assistant messages in addition to OpenAI's. */
  readonly messageFields?: readonly string[];
  /** The deltas with the reasoning, and the fields that the message must bring back. */
  reasoning?(texts: readonly string[], hidden: boolean, ids: (prefix: string) => string): Reasoned;
  /** Additions to a call, given its index among the calls of the reply. */
  callExtra?(place: number, ids: (prefix: string) => string): Loose;
  /** The vendor's further checks of a request. */
  check?(body: Loose, sent: ReadonlyMap<string, SentMessage>): void;
}

interface Reasoned {
  readonly deltas: readonly Loose[];
  /** Fields of the message that hold the reasoning. */
  readonly fields: Loose;
}

/** A message as it was sent, and the calls in it. */
export interface SentMessage {
  readonly fields: Loose;
  readonly calls: readonly Loose[];
}

export function createChatVendor(dialect: ChatDialect): Vendor {
  const ids = createIds();
  /** Id of a call -> the message of the call. */
  const withCalls = new Map<string, SentMessage>();
  const sent: Loose[] = [];
  return {
    sent,
    repliesIn: ({ messages }) => messages.filter(({ role }: Loose) => role === "assistant"),
    name: dialect.name,
    model: dialect.model,
    env: dialect.env,
    answer({ method, path, headers, body }, next) {
      if (method !== "POST" || !path.endsWith("/chat/completions")) invalid(`Invalid URL (${method} ${path})`, {}, 404);
      if (!/^Bearer ./.test(headers.authorization ?? "")) invalid("You didn't provide an API key.", {}, 401);
      checkFields(body, dialect);
      checkMessages(body.messages, dialect);
      dialect.check?.(body, withCalls);
      const reply = next();
      const reasoned = reasoningOf(reply.says, dialect, ids);
      const calls = callsOf(reply.says, dialect, ids);
      for (const { id } of calls) withCalls.set(id, { fields: reasoned.fields, calls });
      sent.push(messageOf(reply.says, reasoned.fields, calls));
      return { stream: streamOf(reply, reasoned, calls, body) };
    },
  };
}

/** https://platform.openai.com/docs/guides/error-codes */
export function invalid(message: string, more: Loose = {}, status = 400): never {
  const error = { message, type: "invalid_request_error", param: null, code: null, ...more };
  throw new Refusal(status, { error }, message);
}

export const openaiChat: ChatDialect = {
  name: "OpenAI (chat)",
  model: "gpt-4o",
  env: (url) => ({ OPENAI_API_KEY: "sk-o", OPENAI_BASE_URL: `${url}/v1` }),
  fields: ["max_completion_tokens"],
  // https://platform.openai.com/docs/models/gpt-4o
  maxOutput: 16_384,
};

/**
 * https://api-docs.deepseek.com/guides/thinking_mode: a message with calls keeps its reasoning_content, in later turns too;
 * anomalyco/opencode#24722 for the words.
 */
export const deepseek: ChatDialect = {
  name: "DeepSeek",
  model: "deepseek-v4-pro",
  env: (url) => ({ DEEPSEEK_API_KEY: "sk-d", DEEPSEEK_BASE_URL: `${url}/v1` }),
  // https://api-docs.deepseek.com/api/create-chat-completion
  fields: ["max_tokens"],
  maxOutput: 384_000,
  // rikkahub/rikkahub#1433
  blind: {
    status: 400,
    words:
      "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 679289",
  },
  messageFields: ["reasoning_content"],
  reasoning: (texts) => ({
    deltas: piecesOf(texts.join("")).map((reasoning_content) => ({ reasoning_content })),
    fields: texts.length > 0 ? { reasoning_content: texts.join("") } : {},
  }),
  check({ messages }, sent) {
    for (const { tool_calls, reasoning_content } of messages) {
      if (!tool_calls) continue;
      const known = sent.get(tool_calls[0].id);
      // A thinking model always has some. A message of another model needs the field too.
      const wanted = known ? (known.fields.reasoning_content ?? reasoning_content) : (reasoning_content ?? "");
      if (wanted !== reasoning_content)
        invalid("The `reasoning_content` in the thinking mode must be passed back to the API.");
    }
  },
};

/** https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks: details come back unmodified and in order. */
export const openrouter: ChatDialect = {
  name: "OpenRouter",
  model: "anthropic/claude-opus-5.5",
  env: (url) => ({ OPENROUTER_API_KEY: "sk-r", OPENROUTER_BASE_URL: `${url}/api/v1` }),
  // https://openrouter.ai/docs/api/reference/parameters#max-tokens
  fields: ["max_tokens"],
  maxOutput: 128_000,
  messageFields: ["reasoning_details"],
  reasoning(texts, hidden, ids) {
    const format = "anthropic-claude-v1";
    const details = texts.map((text, index) => ({
      type: "reasoning.text",
      text,
      format,
      index,
      signature: ids("sig"),
    }));
    const data = { type: "reasoning.encrypted", data: ids("enc"), format, index: texts.length, id: ids("rs") };
    const all = hidden ? [...details, data] : details;
    return {
      deltas: [
        ...details.flatMap(({ signature, text, ...head }) => [
          ...piecesOf(text).map((piece) => ({ reasoning: piece, reasoning_details: [{ ...head, text: piece }] })),
          { reasoning_details: [{ ...head, text: "", signature }] },
        ]),
        ...(hidden ? [{ reasoning_details: [data] }] : []),
      ],
      fields: all.length > 0 ? { reasoning_details: all } : {},
    };
  },
  check({ messages }, sent) {
    for (const { tool_calls, reasoning_details } of messages) {
      const known = sent.get(tool_calls?.[0]?.id);
      if (known && sorted(known.fields.reasoning_details ?? []) !== sorted(reasoning_details ?? []))
        invalid("Invalid `signature` in `thinking` block");
    }
  },
};

/** https://ai.google.dev/gemini-api/docs/thought-signatures#openai: the first call of a step is signed. */
export const geminiChat: ChatDialect = {
  name: "Gemini (chat)",
  model: "gemini-3.1-pro-preview",
  env: (url) => ({ GEMINI_API_KEY: "g", GEMINI_BASE_URL: `${url}/v1beta/openai` }),
  callExtra: (place, ids) => (place === 0 ? { extra_content: { google: { thought_signature: ids("sig") } } } : {}),
  check({ messages }, sent) {
    for (const { tool_calls = [] } of messages) {
      tool_calls.forEach(({ id, function: called, extra_content }: Loose, position: number) => {
        const known = sent.get(id)?.calls.find((call) => call.id === id);
        if (!known?.extra_content || sealOf(known.extra_content) === sealOf(extra_content)) return;
        if (extra_content) invalid("Corrupted thought signature.");
        invalid(
          `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${called.name}\`, position ${position + 1}.`,
        );
      });
    }
  },
};

/** Models that take tools at /v1/responses only: BerriAI/litellm#34569, aaif-goose/goose#2564. */
export function refusingTools(model: string): ChatDialect {
  return {
    ...openaiChat,
    name: `OpenAI (chat, ${model})`,
    model,
    maxOutput: 128_000,
    check({ tools, reasoning_effort }) {
      if (/codex/.test(model))
        invalid(`This model is only supported in v1/responses and not in v1/chat/completions.`, {}, 404);
      if (tools?.length && reasoning_effort !== "none")
        invalid(
          `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
          { param: "reasoning_effort" },
        );
    },
  };
}

// --- internal ---

const FIELDS = ["model", "stream", "stream_options", "reasoning_effort", "prompt_cache_key", "tools", "messages"];

function checkFields(body: Loose, { model, fields = [], maxOutput = Number.POSITIVE_INFINITY }: ChatDialect): void {
  // anomalyco/opencode#37964
  if (body.max_tokens !== undefined && fields.includes("max_completion_tokens"))
    invalid(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      { param: "max_tokens", code: "unsupported_parameter" },
    );
  const extra = unknownKey(body, [...FIELDS, ...fields]);
  if (extra) invalid(`Unrecognized request argument supplied: ${extra}`);
  if (body.model !== model) invalid(`The model \`${body.model}\` does not exist`, { code: "model_not_found" }, 404);
  const limit = body.max_completion_tokens ?? body.max_tokens ?? 1;
  // enoch3712/ExtractThinker#346
  if (limit > maxOutput)
    invalid(`max_tokens is too large: ${limit}. This model supports at most ${maxOutput} completion tokens.`);
  if (!Array.isArray(body.messages) || body.messages.length === 0) invalid("[] is too short - 'messages'");
  for (const { type, function: tool } of body.tools ?? []) {
    if (type !== "function" || !/^[a-zA-Z0-9_-]{1,64}$/.test(tool?.name)) invalid("Invalid 'tools[0].function.name'");
  }
}

const MESSAGE_FIELDS = ["role", "content", "tool_calls", "tool_call_id", "extra_content"];

/** https://platform.openai.com/docs/guides/function-calling#handling-function-calls */
function checkMessages(messages: Loose[], { messageFields = [], blind }: ChatDialect): void {
  const pictured = messages.some(
    ({ content }) => Array.isArray(content) && content.some(({ type }: Loose) => type === "image_url"),
  );
  if (blind && pictured) invalid(blind.words, {}, blind.status);
  let open: string[] = [];
  messages.forEach((message, at) => {
    const extra = unknownKey(message, [...MESSAGE_FIELDS, ...messageFields]);
    if (extra) invalid(`Additional properties are not allowed ('${extra}' was unexpected) - 'messages.${at}'`);
    const { role, content, tool_calls, tool_call_id } = message;
    if (role === "tool") {
      if (!open.includes(tool_call_id))
        invalid("messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.");
      open = open.filter((id) => id !== tool_call_id);
      if (typeof content !== "string") invalid(`Invalid type for 'messages[${at}].content': expected a string`);
      return;
    }
    if (open.length > 0)
      invalid(
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`,
      );
    if (role === "assistant" && content === null && !tool_calls?.length)
      invalid(`Invalid value for 'content': expected a string, got null. - 'messages.[${at}].content'`);
    for (const { id, function: called } of tool_calls ?? []) {
      if (id.length > 40) invalid(`Invalid 'messages[${at}].tool_calls[0].id': string too long. Expected 40 or fewer.`);
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(called.name)) invalid(`Invalid 'messages[${at}].tool_calls[0].function.name'`);
      if (typeof called.arguments !== "string") invalid(`Invalid type for 'arguments': expected a string`);
    }
    open = (tool_calls ?? []).map(({ id }: Loose) => id);
  });
  if (open.length > 0) invalid(`An assistant message with 'tool_calls' must be followed by tool messages`);
}

/** Keys have no order. */
function sorted(list: readonly Loose[]): string {
  return JSON.stringify(list.map((one) => Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))));
}

function reasoningOf(says: readonly Said[], dialect: ChatDialect, ids: (prefix: string) => string): Reasoned {
  const texts = says.flatMap((said) => ("reasoning" in said && said.reasoning ? [said.reasoning] : []));
  const hidden = says.some((said) => "hidden" in said);
  if (!dialect.reasoning || (texts.length === 0 && !hidden)) return { deltas: [], fields: {} };
  return dialect.reasoning(texts, hidden, ids);
}

function callsOf(says: readonly Said[], dialect: ChatDialect, ids: (prefix: string) => string): Loose[] {
  return says
    .flatMap((said) => ("call" in said ? [said] : []))
    .map(({ call, args }, index) => ({
      index,
      id: ids("call_"),
      type: "function",
      function: { name: call, arguments: argsText(args) },
      ...dialect.callExtra?.(index, ids),
    }));
}

/** The form that must come back: with reasoning only on messages with calls, unless it is signed. */
function messageOf(says: readonly Said[], fields: Loose, calls: Loose[]): Loose {
  const { reasoning_content, ...signed } = fields;
  const content = says.map((said) => ("text" in said ? said.text : "")).join("");
  return {
    role: "assistant",
    content: content || (calls.length > 0 ? null : "(nothing)"),
    ...signed,
    ...(calls.length > 0 && reasoning_content !== undefined && { reasoning_content }),
    ...(calls.length > 0 && { tool_calls: calls.map(({ index: _index, ...call }) => call) }),
  };
}

const STOPS = { max_tokens: "length", refusal: "content_filter", pause_turn: "stop" } as const;

/** https://platform.openai.com/docs/api-reference/chat-streaming */
function streamOf({ says, stop = "end" }: ModelReply, reasoned: Reasoned, calls: Loose[], body: Loose): string[] {
  const chunk = (delta: Loose, finish_reason: string | null = null) =>
    sse({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason }],
      usage: null,
    });
  const text = says.map((said) => ("text" in said ? said.text : "")).join("");
  const usage = { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 60 } };
  return [
    chunk({ role: "assistant", content: "" }),
    ...reasoned.deltas.map((delta) => chunk(delta)),
    ...piecesOf(text).map((content) => chunk({ content })),
    ...calls.flatMap(({ function: called, ...call }) => [
      chunk({ tool_calls: [{ ...call, function: { name: called.name, arguments: "" } }] }),
      ...piecesOf(called.arguments).map((piece) =>
        chunk({ tool_calls: [{ index: call.index, function: { arguments: piece } }] }),
      ),
    ]),
    chunk({}, stop === "end" ? (calls.length > 0 ? "tool_calls" : "stop") : STOPS[stop]),
    ...(body.stream_options?.include_usage ? [sse({ id: "chatcmpl-1", choices: [], usage })] : []),
    "data: [DONE]\n\n",
  ];
}
