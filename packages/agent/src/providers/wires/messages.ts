/** Anthropic Messages, https://platform.claude.com/docs/en/api/messages: blocks in order, thinking that is signed. */
import { createHash } from "node:crypto";
import type { ReasoningPart } from "@chimera/acp-schema/events";
import type { AgentError } from "../../errors.js";
import { isJsonObject } from "../../json.js";
import type { ToolImage } from "../../tool.js";
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
  /** Tokens the model may think with; 0 turns thinking off. */
  readonly thinkingBudget: number;
}

export function createMessagesModel(options: MessagesSettings & Endpoint): Model {
  return createWireModel(messages, options);
}

// --- internal ---

const messages: Wire<MessagesSettings> = {
  headers: { "anthropic-version": "2023-06-01" },
  framing: "events",
  request(conversation, settings) {
    const { wire, digest } = wireMessages(conversation);
    return { body: bodyOf(conversation, settings, wire), ...createReader(digest) };
  },
};

// --- what goes out ---

interface Marked {
  cache_control?: { type: "ephemeral" };
}
type TextBlock = { type: "text"; text: string } & Marked;
type ImageBlock = {
  type: "image";
  source: { type: "base64"; media_type: ToolImage["mimeType"]; data: string };
} & Marked;
type ResultBlock = {
  type: "tool_result";
  tool_use_id: string;
  is_error: boolean;
  content: (TextBlock | ImageBlock)[];
} & Marked;
type ThinkingBlock =
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string };
type ReplyBlock = TextBlock | ThinkingBlock | ({ type: "tool_use"; id: string; name: string; input: object } & Marked);

type WireMessage =
  | { role: "user"; content: (TextBlock | ImageBlock | ResultBlock)[] }
  | { role: "assistant"; content: ReplyBlock[] };

const CACHED = { type: "ephemeral" } as const;

function bodyOf(
  { system, tools, maxOutput: most = Number.POSITIVE_INFINITY }: ModelRequest,
  { model, maxOutput, thinkingBudget }: MessagesSettings,
  wire: WireMessage[],
) {
  // Two breakpoints: what never changes, and the conversation so far. Each step then re-reads all but its own news.
  const last = wire.at(-1)?.content.at(-1);
  if (last) (last as Marked).cache_control = CACHED;
  return {
    model,
    max_tokens: Math.min(maxOutput, Math.max(most, thinkingBudget + 1)),
    stream: true,
    ...(system ? { system: [{ type: "text", text: system, cache_control: CACHED }] } : {}),
    ...(thinkingBudget > 0 ? { thinking: { type: "enabled", budget_tokens: thinkingBudget } } : {}),
    ...(tools.length > 0 ? { tools: tools.map(wireTool) } : {}),
    messages: wire,
  };
}

function wireTool({ name, description, inputSchema }: ModelRequest["tools"][number]) {
  return { name, description, input_schema: inputSchema };
}

/**
 * Roles must alternate and results belong to the user's side, so neighbours of one side are joined.
 *
 * Thinking is bound to everything before it (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking): sent back
 * after anything else than what it came after, it is refused, while thinking that is left out is always accepted. So each seal
 * names the digest of the request that was answered, and counts only where what is sent now has the same one.
 */
function wireMessages({ system, tools, messages }: ModelRequest): { wire: WireMessage[]; digest: string } {
  const hash = createHash("sha256").update(JSON.stringify([system, tools.map(wireTool)]));
  const digestNow = (): string => hash.copy().digest("base64url").slice(0, 22);
  const wire: WireMessage[] = [];
  for (const message of messages) {
    const said: WireMessage =
      message.role === "assistant"
        ? { role: "assistant", content: replyBlocks(message.parts, digestNow) }
        : { role: "user", content: userBlocks(message) };
    if (said.content.length === 0) continue;
    hash.update(said.role).update(JSON.stringify(said.content));
    const previous = wire.at(-1);
    if (previous?.role === said.role) (previous.content as unknown[]).push(...said.content);
    else wire.push(said);
  }
  return { wire, digest: digestNow() };
}

function userBlocks(message: Exclude<ModelMessage, { role: "assistant" }>): (TextBlock | ImageBlock | ResultBlock)[] {
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

function replyBlocks(parts: Parts, digestNow: () => string): ReplyBlock[] {
  const digest = parts.some((part) => part.type === "reasoning" && part.seal) ? digestNow() : "";
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

function thinkingBlocks({ text, seal }: ReasoningPart, digest: string): ThinkingBlock[] {
  if (!isJsonObject(seal?.data) || seal.data["after"] !== digest) return [];
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
