/** The provider port: a model, a streamed request, and how hard the model thinks. Anything that yields these events is a provider. */
import type { Json, Message } from "@chimera/acp-schema/events";
import type { JsonSchema, ToolImage } from "../tool.js";
import type { Env } from "./table.js";

export interface Model {
  /** Who serves it: `anthropic`, `openai`, `offline` … */
  readonly provider: string;
  /** The name at its provider. */
  readonly id: string;
  /** In tokens. */
  readonly contextWindow: number;
  /** Most tokens in one reply, if known. */
  readonly maxOutput?: number | undefined;
  /** Whether it accepts pictures; undefined when only an attempt can show that. */
  readonly sees?: boolean | undefined;
  /** US dollars per million tokens; null when unknown. */
  readonly price: Price | null;
  /** Whether it may write its calls as text, as some small models do. @defaultValue false */
  readonly textCalls?: boolean;
  /** Streams one reply, in batches of events that arrived together. Throws an `AgentError` and does not retry. */
  stream(request: ModelRequest): AsyncIterable<readonly ModelEvent[]>;
}

export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
  readonly signal: AbortSignal;
  /** The session that asks. Providers use it to find their cache. */
  readonly session?: string;
  /** Most tokens in the reply. @defaultValue as many as the model can write */
  readonly maxOutput?: number | undefined;
  /** How hard to think. @defaultValue null: `CHIMERA_THINKING_LEVEL`, or else the model's own default */
  readonly effort?: EffortChoice | null;
  /** The reply is a summary of the conversation and does not continue it. */
  readonly summary?: boolean;
}

export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

/** The conversation as a provider gets it: the log's messages and a turn's notes, with no seals of other models. */
export type ModelMessage =
  | Extract<Message, { role: "assistant" }>
  /** A note comes from the program and not from the person. A summary is a note. */
  | (Extract<Message, { role: "user" }> & { readonly note?: boolean })
  | (Extract<Message, { role: "tool" }> & { readonly images?: readonly ToolImage[] });

export type ModelEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  /** Ends a part. The provider wants `seal` back with it. Without a piece before it, this is a part without text. */
  | { readonly type: "part_end"; readonly kind: "text" | "reasoning"; readonly seal?: Json | undefined }
  | ({ readonly type: "call" } & RawCall)
  /** The tokens of this request so far; a later one replaces it. */
  | { readonly type: "usage"; readonly usage: ModelUsage }
  /** The reply is complete. A stream that ends without this event broke off. */
  | { readonly type: "stop"; readonly reason: ModelStop };

/** A complete call as the model wrote it. */
export interface RawCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly args: string;
  readonly seal?: Json | undefined;
}

/** `pause`: the provider continues the reply when it gets the same conversation again with this reply at the end. */
export type ModelStop = "end" | "calls" | "max_tokens" | "refusal" | "pause";

/** Tokens of one request; every token is counted in exactly one of the first four. */
export interface ModelUsage {
  /** Prompt tokens that were neither read from nor written to a cache. */
  readonly input: number;
  /** Everything generated, reasoning included. */
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** The part of `output` that was reasoning. */
  readonly reasoning: number;
}

/** US dollars per million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export const EFFORTS = ["low", "medium", "high"] as const;
export type Effort = (typeof EFFORTS)[number];
/** The values that a person may set; `off` asks for no thinking. */
export type EffortChoice = Effort | "off";

/** The number of thinking tokens, for models that take one. They count as part of the reply. */
export function budgetOf(effort: Effort, maxOutput = Number.POSITIVE_INFINITY): number {
  return Math.min(TOKENS[effort], maxOutput / 2);
}

/**
 * Null for any other value, which leaves the choice to the model.
 *
 * @example
 * parseEffort("high"); // "high"
 * parseEffort("very"); // null
 */
export function parseEffort(value: unknown): EffortChoice | null {
  const level = typeof value === "string" ? value.toLowerCase() : "";
  return level === "off" ? level : (EFFORTS.find((effort) => effort === level) ?? null);
}

/** The effort that the person has set for every session. */
export function effortIn(env: Env): EffortChoice | null {
  return parseEffort(env["CHIMERA_THINKING_LEVEL"]);
}

/** The effort of a request, or the usual one; null for no thinking, or when the server accepts no effort. */
export function effortOf(
  { effort }: Pick<ModelRequest, "effort">,
  { effort: usual, efforts = true }: Efforts,
): Effort | null {
  const asked = efforts ? (effort ?? usual) : null;
  return asked === "off" ? null : asked;
}

/** A wire's settings for thinking. */
export interface Efforts {
  /** Used when the request names no effort. */
  readonly effort: EffortChoice | null;
  /** Whether the server accepts an effort. @defaultValue true */
  readonly efforts?: boolean;
}

/** The tokens of a request, from counts that a server may omit. `prompt` includes the tokens read from the cache. */
export function usageFrom(counts: Counts): ModelUsage {
  const [cacheRead, reasoning] = [counts.cacheRead ?? 0, counts.reasoning ?? 0];
  const input = Math.max(0, (counts.prompt ?? 0) - cacheRead);
  return { input, output: counts.output ?? 0, cacheRead, cacheWrite: 0, reasoning };
}

// --- internal ---

type Counts = { readonly [name in "prompt" | "output" | "cacheRead" | "reasoning"]?: number | null | undefined };

const TOKENS: Readonly<Record<Effort, number>> = { low: 4_096, medium: 12_288, high: 24_576 };
