/** Anthropic Messages, https://platform.claude.com/docs/en/api/messages: blocks in order, thinking that is signed. */
import { createHash } from "node:crypto";
import type { ReasoningPart } from "@chimera/acp-schema/events";
import type { AgentError } from "../../errors.js";
import { isJsonObject } from "../../json.js";
import type { ToolImage } from "../../tool.js";
import { type Effort, THINKING_TOKENS } from "../effort.js";
import { oddEnding } from "../endings.js";
import type { Model, ModelMessage, ModelRequest, ModelStop, Usage } from "../model.js";
import { promptParts } from "../prompt-parts.js";
import { providerError } from "../provider-error.js";
import type { Reply } from "../reply.js";
import { asText, createWireModel, type Endpoint, type Exchange, type Wire } from "../wire.js";
import { writtenCall } from "../written-call.js";

export interface MessagesSettings {
  readonly model: string;
  readonly maxOutput: number;
  readonly thinking: Thinking | null;
}

/**
 * How a model is asked to think. Models from 4.6 on decide how much, within an effort; older ones are given a number of tokens
 * (https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking).
 */
export type Thinking =
  | { readonly form: "adaptive"; readonly effort: Effort | null; readonly refused?: true }
  | { readonly form: "budget"; readonly tokens: number; readonly effort: Effort | null; readonly refused?: true };

/** Thinking counts as part of the reply. */
export function budgetOf(effort: Effort, maxOutput: number): number {
  return Math.min(THINKING_TOKENS[effort], maxOutput / 2);
}

export function createMessagesModel(options: MessagesSettings & Endpoint): Model {
  return createWireModel(messages, options);
}

/** The body of a request; exported for the check against the vendor's own types. */
export type MessagesBody = ReturnType<typeof bodyOf>;

// --- internal ---

const messages: Wire<MessagesSettings> = {
  headers: { "anthropic-version": "2023-06-01" },
  framing: "events",
  request(conversation, settings) {
    const { wire, digest } = wireMessages(conversation, settings.thinking?.form !== "budget");
    return { body: bodyOf(conversation, settings, wire), ...createReader(digest) };
  },
  refusesSeal:
    /invalid `?(signature|data)`?|bound to a different|thinking`? blocks.*cannot be modified|each thinking block must/i,
  fallback: askOtherwise,
};

/** A model that does not take one way of asking for thinking gets the other one, then none. */
function askOtherwise(settings: MessagesSettings, said: string): MessagesSettings | null {
  const { thinking, maxOutput } = settings;
  if (!thinking) return null;
  if (/start with a thinking block/i.test(said)) return { ...settings, thinking: null };
  if (!/thinking|adaptive|budget_tokens|output_config|effort/i.test(said)) return null;
  const { effort, refused, form } = thinking;
  if (refused) return { ...settings, thinking: null };
  const other: Thinking | null =
    form === "budget"
      ? { form: "adaptive", effort, refused: true }
      : effort && { form: "budget", effort, tokens: budgetOf(effort, maxOutput), refused: true };
  return { ...settings, thinking: other };
}

// --- what goes out ---

interface Marked {
  cache_control?: { type: "ephemeral" };
}
interface TextBlock extends Marked {
  type: "text";
  text: string;
}
interface ImageBlock extends Marked {
  type: "image";
  source: { type: "base64"; media_type: ToolImage["mimeType"]; data: string };
}
interface ResultBlock extends Marked {
  type: "tool_result";
  tool_use_id: string;
  is_error: boolean;
  content: (TextBlock | ImageBlock)[];
}
type UserBlock = TextBlock | ImageBlock | ResultBlock;
type ThinkingBlock =
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string };
type ReplyBlock = TextBlock | ThinkingBlock | { type: "tool_use"; id: string; name: string; input: object };

type WireMessage = { role: "user"; content: UserBlock[] } | { role: "assistant"; content: ReplyBlock[] };

const CACHED = { type: "ephemeral" } as const;
/** Four marks are allowed, and the system text has one. */
const MARKED_MESSAGES = 3;

function bodyOf({ system, tools, maxOutput: asked }: ModelRequest, settings: MessagesSettings, wire: WireMessage[]) {
  const { model, maxOutput, thinking } = settings;
  const least = thinking?.form === "budget" ? thinking.tokens + 1 : 1;
  markForCache(wire);
  return {
    model,
    max_tokens: Math.min(maxOutput, Math.max(least, asked ?? maxOutput)),
    stream: true as const,
    ...(system && { system: [{ type: "text" as const, text: system, cache_control: CACHED }] }),
    ...(thinking && thinkingOf(thinking)),
    ...(tools.length > 0 && { tools: tools.map(wireTool) }),
    messages: wire,
  };
}

/**
 * What is marked is read from the cache by the next request that begins with the same words, and a mark is looked for within twenty
 * blocks only: a step of fifteen calls and their results is longer. So the ends of the last messages of the user's side are marked
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
 */
function markForCache(wire: readonly WireMessage[]): void {
  const users = wire.filter((message) => message.role === "user").slice(-MARKED_MESSAGES);
  for (const { content } of users) {
    const last = content.at(-1);
    if (last) last.cache_control = CACHED;
  }
}

function thinkingOf(thinking: Thinking) {
  if (thinking.form === "budget") return { thinking: { type: "enabled" as const, budget_tokens: thinking.tokens } };
  const { effort } = thinking;
  return {
    thinking: { type: "adaptive" as const, display: "summarized" as const },
    ...(effort && { output_config: { effort } }),
  };
}

function wireTool({ name, description, inputSchema }: ModelRequest["tools"][number]) {
  return { name, description, input_schema: inputSchema as { type: "object" } };
}

/**
 * Roles must alternate and results belong to the user's side, so neighbours of one side are joined.
 *
 * Thinking is bound to everything before it (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking): sent back
 * after anything else than what it came after, it is refused, while thinking that is left out is always accepted. So each seal
 * names the digest of the request that was answered, and counts only where what is sent now has the same one. Models that are given
 * a budget are not `bound`, and refuse a turn of calls that does not begin with thinking.
 */
function wireMessages(
  { system, tools, messages }: ModelRequest,
  bound: boolean,
): { wire: WireMessage[]; digest: string } {
  const hash = createHash("sha256").update(JSON.stringify([system, tools.map(wireTool)]));
  const digestNow = (): string => hash.copy().digest("base64url").slice(0, 22);
  const wire: WireMessage[] = [];
  for (const message of messages) {
    const said: WireMessage =
      message.role === "assistant"
        ? { role: "assistant", content: replyBlocks(message.parts, bound ? digestNow : null) }
        : { role: "user", content: userBlocks(message) };
    if (said.content.length === 0) continue;
    hash.update(said.role).update(JSON.stringify(said.content));
    const previous = wire.at(-1);
    if (previous?.role === said.role) (previous.content as unknown[]).push(...said.content);
    else wire.push(said);
  }
  return { wire, digest: digestNow() };
}

function userBlocks(message: Exclude<ModelMessage, { role: "assistant" }>): UserBlock[] {
  switch (message.role) {
    case "user":
      return promptParts(message).map((part) => (part.type === "text" ? textBlock(part.text) : imageBlock(part)));
    case "summary":
      return [textBlock(message.text)];
    case "tool":
      return [
        {
          type: "tool_result",
          tool_use_id: message.id,
          is_error: !message.success,
          content: [
            textBlock(message.output.trim() ? message.output : "(no output)"),
            ...(message.images ?? []).map(imageBlock),
          ],
        },
      ];
  }
}

type Parts = Extract<ModelMessage, { role: "assistant" }>["parts"];

function replyBlocks(parts: Parts, digestNow: (() => string) | null): ReplyBlock[] {
  const digest = digestNow && parts.some((part) => part.type === "reasoning" && part.seal) ? digestNow() : null;
  const blocks = parts.flatMap((part): ReplyBlock[] => {
    if (part.type === "reasoning") return thinkingBlocks(part, digest);
    // A text of blanks only is refused.
    if (part.type === "text") return part.text.trim() ? [textBlock(part.text)] : [];
    const { name, input } = writtenCall(part);
    return [{ type: "tool_use", id: part.id, name, input }];
  });
  // Thinking is refused as the last block, where a reply was cut or cancelled.
  return blocks.slice(0, blocks.findLastIndex((block) => !block.type.endsWith("thinking")) + 1);
}

/** Without a digest, whatever came before. */
function thinkingBlocks({ text, seal }: ReasoningPart, digest: string | null): ThinkingBlock[] {
  if (!isJsonObject(seal?.data) || (digest !== null && seal.data["after"] !== digest)) return [];
  const { type, signature, data } = seal.data as Record<string, unknown>;
  if (type === "thinking" && typeof signature === "string") return [{ type, thinking: text, signature }];
  return type === "redacted_thinking" && typeof data === "string" ? [{ type, data }] : [];
}

function textBlock(text: string): TextBlock {
  return { type: "text", text };
}

function imageBlock({ mimeType, data }: ToolImage): ImageBlock {
  return { type: "image", source: { type: "base64", media_type: mimeType, data } };
}

// --- what comes back ---

interface WireEvent {
  type?: string;
  index?: number;
  message?: { usage?: WireUsage };
  content_block?: { type?: string; id?: string; name?: string; text?: string; input?: unknown; data?: string };
  delta?: {
    type?: string;
    text?: string;
    thinking?: string;
    signature?: string;
    partial_json?: string;
    stop_reason?: string | null;
  };
  usage?: WireUsage;
  error?: { type?: string; message?: string };
}

interface WireUsage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  cache_read_input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
}

interface OpenBlock {
  readonly type: string;
  readonly id: string;
  readonly name: string;
  readonly data: string;
  json: string;
  signature: string;
}

const STOPS: ReadonlyMap<string, ModelStop> = new Map([
  ["tool_use", "calls"],
  ["max_tokens", "max_tokens"],
  ["refusal", "refusal"],
]);

/** `after` is the digest of the request whose answer is read. */
function createReader(after: string): Pick<Exchange, "read" | "finish"> {
  const open = new Map<number, OpenBlock>();
  let usage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };

  const rows: Record<string, (event: WireEvent, reply: Reply) => void> = {
    message_start({ message }, reply) {
      usage = merge(usage, message?.usage);
      reply.usage(usage);
    },
    content_block_start({ index = 0, content_block: block = {} }, reply) {
      closeAll(reply);
      const type = asText(block.type);
      if (type === "text") reply.text(asText(block.text));
      const json = type === "tool_use" && hasKeys(block.input) ? JSON.stringify(block.input) : "";
      const [id, name, data] = [asText(block.id), asText(block.name), asText(block.data)];
      open.set(index, { type, id, name, data, json, signature: "" });
    },
    content_block_delta({ index = 0, delta = {} }, reply) {
      if (delta.type === "text_delta") return reply.text(asText(delta.text));
      const block = open.get(index);
      if (!block) return;
      if (delta.type === "signature_delta") block.signature += asText(delta.signature);
      else if (delta.type === "input_json_delta") block.json += asText(delta.partial_json);
      else if (delta.type === "thinking_delta") reply.reasoning(asText(delta.thinking));
    },
    content_block_stop({ index = 0 }, reply) {
      const block = open.get(index);
      open.delete(index);
      if (block) close(block, reply);
    },
    message_delta(event, reply) {
      const said = event.delta?.stop_reason;
      if (said) reply.stop(STOPS.get(said) ?? oddEnding(said));
      usage = merge(usage, event.usage);
      reply.usage(usage);
    },
    message_stop(_event, reply) {
      if (!reply.whole) reply.stop("end");
      reply.close();
    },
    error({ error }) {
      throw reported(error);
    },
  };

  const close = ({ type, id, name, json, signature, data }: OpenBlock, reply: Reply): void => {
    if (type === "tool_use") reply.call({ id, name, args: json });
    else if (type === "text") reply.end("text");
    else if (type === "thinking") reply.end("reasoning", { type, signature, after });
    else if (type === "redacted_thinking") reply.end("reasoning", { type, data, after });
  };

  /** Blocks come one after the other, but compatible servers do not always say where one ends. */
  const closeAll = (reply: Reply): void => {
    for (const block of open.values()) close(block, reply);
    open.clear();
  };

  return {
    read(event, reply) {
      if (typeof event !== "object" || event === null) return;
      const { type = "" } = event as WireEvent;
      if (Object.hasOwn(rows, type)) rows[type]?.(event as WireEvent, reply);
    },
    finish: closeAll,
  };
}

function merge(usage: Usage, news: WireUsage | undefined): Usage {
  return {
    input: news?.input_tokens ?? usage.input,
    output: news?.output_tokens ?? usage.output,
    cacheRead: news?.cache_read_input_tokens ?? usage.cacheRead,
    cacheWrite: news?.cache_creation_input_tokens ?? usage.cacheWrite,
    reasoning: usage.reasoning,
  };
}

function hasKeys(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function reported(error: WireEvent["error"]): AgentError {
  return providerError(0, error?.type ?? "api_error", error?.message ?? "the provider reported an error");
}
