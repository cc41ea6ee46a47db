/** Makes requests to Anthropic Messages: ordered blocks, marks for the cache, and the thinking that is still valid. */
import { createHash } from "node:crypto";
import type { ReasoningPart } from "@chimera/acp-schema/events";
import { isJsonObject } from "../../../json.js";
import type { ToolImage } from "../../../tool.js";
import { promptParts, writtenCall } from "../../exchange.js";
import type { Effort, Efforts, ModelMessage, ModelRequest } from "../../model.js";
import { budgetOf, effortOf } from "../../model.js";

export interface MessagesSettings extends Efforts {
  readonly model: string;
  readonly maxOutput: number;
  /**
   * How the model is asked to think; null for one that cannot. Models from 4.6 on decide within an effort; older ones get a number of
   * tokens (https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking).
   */
  readonly thinking: "adaptive" | "budget" | null;
  /** Whether the model has refused the other form. @defaultValue false */
  readonly refused?: boolean;
}

/** Makes the body of a request, and the digest of its conversation, to which the thinking in the reply is bound. */
export function messagesRequest(conversation: ModelRequest, settings: MessagesSettings) {
  const thinking = thinkingFor(conversation, settings);
  const { wire, digest } = wireMessages(conversation, thinking?.form !== "budget");
  return { body: bodyOf(conversation, settings, thinking, wire), digest };
}

/** Exported so that a test can check it against the vendor's types. */
export type MessagesBody = ReturnType<typeof bodyOf>;

// --- internal ---

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
/** The vendor allows four marks, and the system text has one. */
const MARKED_MESSAGES = 3;

function bodyOf(
  { system, tools, maxOutput: asked }: ModelRequest,
  { model, maxOutput }: MessagesSettings,
  thinking: Thinking | null,
  wire: WireMessage[],
) {
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
 * Marks the ends of the last messages on the user's side. The next request that begins with the same text reads everything up to a mark
 * from the cache, but the vendor searches only twenty blocks back for a mark. A step with fifteen calls and their results has more
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
 */
function markForCache(wire: readonly WireMessage[]): void {
  const users = wire.filter((message) => message.role === "user").slice(-MARKED_MESSAGES);
  for (const { content } of users) {
    const last = content.at(-1);
    if (last) last.cache_control = CACHED;
  }
}

type Thinking =
  | { readonly form: "adaptive"; readonly effort: Effort | null }
  | { readonly form: "budget"; readonly tokens: number };

/** An adaptive model may think unless the person has switched it off. A model with a budget thinks only when asked to. */
function thinkingFor(request: ModelRequest, settings: MessagesSettings): Thinking | null {
  const { thinking, effort: usual, maxOutput } = settings;
  const effort = effortOf(request, settings);
  if (thinking === "budget") return effort && { form: thinking, tokens: budgetOf(effort, maxOutput) };
  return thinking && (request.effort ?? usual) !== "off" ? { form: thinking, effort } : null;
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
 * Joins neighbouring messages of one side, because roles must alternate and results belong to the user's side.
 *
 * Thinking is bound to everything before it (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking). The vendor
 * refuses thinking after a changed conversation, but accepts a conversation without the thinking. So each seal has the digest of the
 * request that was answered, and is sent only if the conversation before it still has the same digest. Models with a budget are not
 * `bound`, and refuse a turn with calls that does not begin with thinking.
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
  if (message.role === "user")
    return promptParts(message).map((part) => (part.type === "text" ? textBlock(part.text) : imageBlock(part)));
  const { id, success, output, images = [] } = message;
  const content = [textBlock(output.trim() ? output : "(no output)"), ...images.map(imageBlock)];
  return [{ type: "tool_result", tool_use_id: id, is_error: !success, content }];
}

type Parts = Extract<ModelMessage, { role: "assistant" }>["parts"];

function replyBlocks(parts: Parts, digestNow: (() => string) | null): ReplyBlock[] {
  const digest = digestNow && parts.some((part) => part.type === "reasoning" && part.seal) ? digestNow() : null;
  const blocks = parts.flatMap((part): ReplyBlock[] => {
    if (part.type === "reasoning") return thinkingBlocks(part, digest);
    // The vendor refuses a text that is only white space.
    if (part.type === "text") return part.text.trim() ? [textBlock(part.text)] : [];
    const { name, input } = writtenCall(part);
    return [{ type: "tool_use", id: part.id, name, input }];
  });
  // The vendor refuses thinking as the last block, which an interrupted reply may have.
  return blocks.slice(0, blocks.findLastIndex((block) => !block.type.endsWith("thinking")) + 1);
}

/** Returns the block if its digest matches. Without a digest to compare, any digest matches. */
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
