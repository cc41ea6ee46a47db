/**
 * OpenAI Chat Completions, https://platform.openai.com/docs/api-reference/chat, with the additions of compatible servers: reasoning that
 * must go back in the field it came in, and data that belongs to a call or a text.
 */
import type { Json } from "@chimera/acp-schema/events";
import { callsOf, textOf } from "@chimera/acp-schema/parts";
import { asText, isJsonObject, type JsonObject, parseObject } from "../../json.js";
import { oddEnding, type PromptPart, promptContent, type Reply, withPictures, writtenCall } from "../exchange.js";
import type { Efforts, ModelMessage, ModelRequest, ModelStop, ModelUsage } from "../model.js";
import { effortOf, usageFrom } from "../model.js";
import { providerError } from "../provider-error.js";
import type { LimitField } from "../table.js";
import { type Exchange, speaking } from "../wire.js";

export interface ChatSettings extends Efforts {
  readonly model: string;
  /** Most tokens in a reply, if known. */
  readonly maxOutput?: number | undefined;
  /** The field for the output limit; null lets the server decide. */
  readonly limitField: LimitField | null;
  /** Whether the server has refused the other field. @defaultValue false */
  readonly limitRefused?: boolean;
  /** Whether requests name their session, for the vendor's cache. */
  readonly cacheKey: boolean;
  /** Whether every message with calls gets a `reasoning_content`, also one by another model. @defaultValue false */
  readonly fillReasoning?: boolean;
}

export const createChatModel = speaking<ChatSettings>({
  framing: "events",
  request: (conversation, settings) => ({ body: bodyOf(conversation, settings), ...createReader() }),
  refusesSeal: /thought.?signature|reasoning_details|invalid `?signature/i,
  // A field that a server refuses is left out from then on.
  fallback(settings, said, request) {
    if (settings.cacheKey && /prompt_cache_key/.test(said)) return { ...settings, cacheKey: false };
    if (effortOf(request, settings) && /reasoning_effort/.test(said)) return { ...settings, efforts: false };
    if (limitIn(request, settings) && LIMIT.test(said)) return { ...settings, ...otherLimit(settings, said) };
    if (!settings.fillReasoning && /reasoning_content/.test(said)) return { ...settings, fillReasoning: true };
    return null;
  },
});

/** The body of a request. Exported so that a test can check it against the vendor's types. */
export type ChatBody = ReturnType<typeof bodyOf>;

// --- internal ---

/** Matches a refusal of the limit field or of its number. */
const LIMIT = /max_(?:completion_)?tokens|in the completion/i;

const TOO_LARGE = /too large|too high|at most|maximum|exceed|range|less than/i;

/** Tries the other field when the server does not know this one. When it refuses the number, sends no limit. */
function otherLimit({ limitField, limitRefused }: ChatSettings, said: string): Partial<ChatSettings> {
  if (limitRefused || TOO_LARGE.test(said)) return { limitField: null };
  return { limitField: limitField === "max_tokens" ? "max_completion_tokens" : "max_tokens", limitRefused: true };
}

// --- the request ---

function bodyOf(request: ModelRequest, settings: ChatSettings) {
  const { system, tools, messages, session } = request;
  const { model, cacheKey, fillReasoning = false } = settings;
  const effort = effortOf(request, settings);
  return {
    model,
    stream: true as const,
    stream_options: { include_usage: true },
    ...(effort && { reasoning_effort: effort }),
    ...limitIn(request, settings),
    ...(cacheKey && session !== undefined && { prompt_cache_key: session }),
    ...(tools.length > 0 && { tools: tools.map(wireTool) }),
    messages: [
      ...(system ? [{ role: "system" as const, content: system }] : []),
      ...[...withPictures(messages)].map((message) => wireMessage(message, fillReasoning)),
    ],
  };
}

function limitIn({ maxOutput: asked }: ModelRequest, { limitField, maxOutput }: ChatSettings): Limit | null {
  const tokens = asked ?? maxOutput;
  return limitField && tokens !== undefined ? { [limitField]: tokens } : null;
}

type Limit = { readonly [field in LimitField]?: number };

function wireTool({ name, description, inputSchema }: ModelRequest["tools"][number]) {
  return { type: "function" as const, function: { name, description, parameters: { ...inputSchema } } };
}

function wireMessage(message: ModelMessage, fillReasoning: boolean) {
  switch (message.role) {
    case "user":
      return { role: "user" as const, content: promptContent(message, wirePart) };
    case "assistant":
      return wireReply(message, fillReasoning);
    case "tool":
      return { role: "tool" as const, tool_call_id: message.id, content: message.output || "(no output)" };
  }
}

type ReplyMessage = Extract<ModelMessage, { role: "assistant" }>;

/** A message has one field for each kind of part, so the order between kinds is lost. */
function wireReply(message: ReplyMessage, fillReasoning: boolean) {
  const calls = callsOf(message);
  return {
    role: "assistant" as const,
    content: textOf(message) || (calls.length > 0 ? null : "(nothing)"),
    ...(fillReasoning && calls.length > 0 && { reasoning_content: "" }),
    ...reasoningOf(message, calls.length > 0),
    ...extraOf(message.parts.flatMap((part) => (part.type === "text" ? [part.seal?.data] : []))),
    ...(calls.length > 0 && {
      tool_calls: calls.map((part) => {
        const { name, args, own } = writtenCall(part);
        return { id: part.id, type: "function" as const, function: { name, arguments: args }, ...extraOf([own]) };
      }),
    }),
  };
}

/**
 * Some servers need their reasoning back, but only on messages with calls (https://api-docs.deepseek.com/guides/thinking_mode).
 * `reasoning_details` go back on all messages (https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks).
 */
function reasoningOf({ parts }: ReplyMessage, calls: boolean): object {
  const thought = parts.filter((part) => part.type === "reasoning");
  const seal = thought.map((part): unknown => part.seal?.data).find(isReasoningSeal);
  if (!seal) return {};
  if (Array.isArray(seal.details)) return { reasoning_details: seal.details };
  return calls ? { [seal.field]: thought.map((part) => part.text).join("") } : {};
}

/** The fields in which servers send reasoning. */
const REASONING_FIELDS = ["reasoning_content", "reasoning"] as const;
type ReasoningField = (typeof REASONING_FIELDS)[number];

function isReasoningSeal(data: unknown): data is { field: ReasoningField; details?: unknown } {
  return isJsonObject(data) && REASONING_FIELDS.some((field) => data["field"] === field);
}

/** The server's own data, such as Google's thought signatures: https://ai.google.dev/gemini-api/docs/thought-signatures. */
function extraOf(seals: readonly unknown[]): object {
  for (const seal of seals)
    if (isJsonObject(seal) && "extra_content" in seal) return { extra_content: seal["extra_content"] };
  return {};
}

function wirePart(part: PromptPart) {
  if (part.type === "text") return { type: "text" as const, text: part.text };
  return { type: "image_url" as const, image_url: { url: `data:${part.mimeType};base64,${part.data}` } };
}

// --- the reply ---

interface WireDelta {
  content?: string | readonly unknown[] | null;
  refusal?: string | null;
  reasoning_content?: string | null;
  reasoning?: string | null;
  reasoning_details?: unknown;
  tool_calls?: readonly WireCall[] | null;
  extra_content?: unknown;
}

interface WireChunk {
  choices?: readonly { delta?: WireDelta; message?: WireDelta; finish_reason?: string | null }[];
  usage?: WireUsage | null;
  object?: string;
  error?: { message?: string; type?: string; code?: string | number | null } | string;
}

interface WireCall {
  index?: number;
  id?: string | null;
  function?: { name?: string | null; arguments?: unknown };
  extra_content?: unknown;
}

interface WireUsage {
  prompt_tokens?: number;
  completion_tokens?: number;
  prompt_cache_hit_tokens?: number;
  prompt_tokens_details?: { cached_tokens?: number } | null;
  completion_tokens_details?: { reasoning_tokens?: number } | null;
}

const STOPS: ReadonlyMap<string, ModelStop> = new Map([
  ["tool_calls", "calls"],
  ["function_call", "calls"],
  ["length", "max_tokens"],
  ["content_filter", "refusal"],
]);

interface Call {
  id: string;
  name: string;
  args: string;
  extra: Json | undefined;
}

function createReader(): Pick<Exchange, "read" | "finish"> {
  const calls: Call[] = [];
  const open = new Map<number, Call>();
  const details = createDetails();
  let field: ReasoningField | undefined;
  let extra: Json | undefined;
  let [refused, spoken] = [false, false];

  const addCall = (fragment: WireCall, position: number): void => {
    const index = fragment.index ?? position;
    const { name, arguments: written } = fragment.function ?? {};
    const args = isJsonObject(written) ? JSON.stringify(written) : asText(written);
    let call = open.get(index);
    if (call && isRepeated(call, fragment, args)) return;
    if (!call || isNext(call, fragment, args)) {
      call = { id: "", name: "", args: "", extra: undefined };
      calls.push(call);
      open.set(index, call);
    }
    call.id ||= asText(fragment.id);
    call.name ||= asText(name);
    call.args += args;
    call.extra ??= signed(fragment.extra_content);
  };

  const addDelta = (delta: WireDelta, reply: Reply): void => {
    spoken ||= Boolean(delta.content);
    if (Array.isArray(delta.content)) addParts(delta.content, reply);
    else if (delta.content) reply.text(asText(delta.content));
    if (delta.reasoning_content || delta.reasoning) {
      const name = asText(delta.reasoning_content) ? "reasoning_content" : "reasoning";
      field ??= name;
      reply.reasoning(asText(delta[name]));
    }
    if (delta.reasoning_details) details.add(delta.reasoning_details);
    if (delta.refusal) {
      refused ||= asText(delta.refusal) !== "";
      reply.text(asText(delta.refusal));
    }
    if (delta.extra_content) extra = signed(delta.extra_content) ?? extra;
    if (Array.isArray(delta.tool_calls)) delta.tool_calls.forEach(addCall);
  };

  return {
    read(chunk, reply) {
      const { choices, usage, error, object } = chunk as WireChunk;
      if (error || object === "error") throw reported(error ?? (chunk as Exclude<WireChunk["error"], undefined>));
      const choice = choices?.[0];
      if (choice) {
        // Some servers repeat the text at the end, as a whole message.
        const whole = spoken ? { tool_calls: choice.message?.tool_calls ?? null } : choice.message;
        const delta = choice.delta ?? whole;
        if (delta) addDelta(delta, reply);
        const reason = choice.finish_reason;
        if (reason) reply.stop(refused ? "refusal" : (STOPS.get(reason) ?? oddEnding(reason)));
      }
      if (usage) reply.usage(usageOf(usage));
    },
    // Wait for the end, because usage comes after the finish reason, and seals may come after their part.
    finish(reply) {
      const all = details.all();
      if (field || all) reply.end("reasoning", { field: field ?? "reasoning", ...(all && { details: all }) });
      if (extra !== undefined) reply.end("text", { extra_content: extra });
      for (const { id, name, args, extra } of calls)
        reply.call({ id, name, args, seal: extra === undefined ? extra : { extra_content: extra } });
    },
  };
}

/** Whether a fragment is a whole call that has arrived already: some servers repeat it at the end. */
function isRepeated(call: Call, { id }: WireCall, args: string): boolean {
  return id === call.id && id !== "" && args === call.args && isWhole(args);
}

/**
 * Whether a fragment with the index of a call begins another one. Some servers send whole calls that all have the same index, with or
 * without ids; others give each fragment of a call another id, and then only the first has the name.
 */
function isNext(call: Call, { id, function: called }: WireCall, args: string): boolean {
  if (!asText(called?.name)) return false;
  return id ? call.id !== "" && id !== call.id : args !== "" && isWhole(call.args);
}

/** Whether the arguments are complete. The last character is looked at first, because fragments may be many. */
function isWhole(args: string): boolean {
  return args.endsWith("}") && parseObject(args) !== null;
}

/** Adds content that is a list of parts, as Mistral's thinking models send it: https://docs.mistral.ai/capabilities/reasoning. */
function addParts(parts: readonly unknown[], reply: Reply): void {
  for (const part of parts) {
    if (!isJsonObject(part)) continue;
    if (part["type"] === "text") reply.text(asText(part["text"]));
    const thoughts = part["type"] === "thinking" && Array.isArray(part["thinking"]) ? part["thinking"] : [];
    for (const thought of thoughts) if (isJsonObject(thought)) reply.reasoning(asText(thought["text"]));
  }
}

/** Joins the pieces of OpenRouter's `reasoning_details` by their index. */
function createDetails() {
  const joined = new Map<unknown, JsonObject>();
  const add = (piece: unknown): void => {
    if (!isJsonObject(piece)) return;
    const key = piece["index"] ?? `${String(piece["type"])} ${String(piece["id"])}`;
    const whole = joined.get(key);
    if (!whole) {
      joined.set(key, { ...piece });
      return;
    }
    for (const [name, value] of Object.entries(piece)) {
      const before = whole[name];
      if (value === null || value === undefined) continue;
      // Append to the fields that arrive in pieces. The other fields are repeated, or come for the first time.
      const grows = GROWING.has(name) && typeof before === "string" && typeof value === "string";
      whole[name] = grows ? before + value : value;
    }
  };
  return {
    add(pieces: unknown) {
      if (Array.isArray(pieces)) pieces.forEach(add);
    },
    all: (): Json | null => (joined.size > 0 ? ([...joined.values()] as Json) : null),
  };
}

const GROWING: ReadonlySet<string> = new Set(["text", "summary", "data"]);

/** The server's extra data, if it must be sent back. */
function signed(extra: unknown): Json | undefined {
  if (!isJsonObject(extra)) return undefined;
  const wanted = Object.values(extra).some((own) => isJsonObject(own) && "thought_signature" in own);
  return wanted ? (extra as Json) : undefined;
}

function usageOf(usage: WireUsage): ModelUsage {
  return usageFrom({
    prompt: usage.prompt_tokens,
    output: usage.completion_tokens,
    cacheRead: usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens,
    reasoning: usage.completion_tokens_details?.reasoning_tokens,
  });
}

function reported(error: NonNullable<WireChunk["error"]>): Error {
  if (typeof error === "string") return providerError(0, "error", error);
  const { code, type, message = "the provider reported an error" } = error;
  if (typeof code === "number") return providerError(code, type ?? "", message);
  return providerError(0, code ?? type ?? "server_error", message);
}
