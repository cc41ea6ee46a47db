/** The provider port: one model, one streamed request, and how hard the model thinks. A provider is anything that yields these events. */
import type { Json, Message } from "@chimera/acp-schema/events";
import type { JsonSchema, ToolImage } from "../tool.js";
import type { Env } from "./table.js";

export interface Model {
  /** Who serves it: `anthropic`, `openai`, `offline` … */
  readonly provider: string;
  /** The name its provider knows it by. */
  readonly id: string;
  /** Tokens. */
  readonly contextWindow: number;
  /** The most tokens of one reply, where that is known. */
  readonly maxOutput?: number;
  /** Whether it takes pictures; undefined where only a try can tell. */
  readonly sees?: boolean;
  /** US dollars per million tokens; null when it is not known. */
  readonly price: Price | null;
  /** Whether it may write its calls as text, as small models do. @defaultValue false */
  readonly textCalls?: boolean;
  /** Streams one reply, in batches of what arrived together. Throws an `AgentError`; nothing is retried here. */
  stream(request: ModelRequest): AsyncIterable<readonly ModelEvent[]>;
}

export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
  readonly signal: AbortSignal;
  /** The session that asks, by which providers find what they have cached. */
  readonly session?: string;
  /** The most tokens that the reply may have. @defaultValue as many as the model can */
  readonly maxOutput?: number;
  /** How hard to think. @defaultValue as `CHIMERA_THINKING_LEVEL` says, else as the model does by itself */
  readonly effort?: EffortChoice;
  /** The reply is a summary of the conversation and does not go on with it. */
  readonly summary?: boolean;
}

export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

/** The conversation as a provider gets it: the log's messages and a turn's notes; seals only of the model asked. */
export type ModelMessage =
  | Extract<Message, { role: "assistant" }>
  /** A note comes from the program and not from the person; a summary is one. */
  | (Extract<Message, { role: "user" }> & { readonly note?: boolean })
  | (Extract<Message, { role: "tool" }> & { readonly images?: readonly ToolImage[] });

export type ModelEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  /** The part ends here. `seal` is what the provider wants back with it; alone, it is a part without text. */
  | { readonly type: "part_end"; readonly kind: "text" | "reasoning"; readonly seal?: Json }
  /** A complete call; `args` is the JSON text the model wrote. */
  | {
      readonly type: "call";
      readonly id: string;
      readonly name: string;
      readonly args: string;
      readonly seal?: Json;
    }
  /** The tokens of this request so far; a later one replaces it. */
  | { readonly type: "usage"; readonly usage: ModelUsage }
  /** The reply is complete. A stream that ends without one was cut. */
  | { readonly type: "stop"; readonly reason: ModelStop };

/** `pause`: the provider wants the same conversation again, with this reply at its end, and then goes on with it. */
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
/** What a person may say; `off` asks for no thinking. */
export type EffortChoice = Effort | "off";

/** Tokens to think with, for models that are given a number of them: they count as part of a reply. */
export function budgetOf(effort: Effort, maxOutput = Number.POSITIVE_INFINITY): number {
  return Math.min(TOKENS[effort], maxOutput / 2);
}

/** null for anything else: it is left to the model. */
export function parseEffort(value: unknown): EffortChoice | null {
  const level = typeof value === "string" ? value.toLowerCase() : "";
  return level === "off" ? level : (EFFORTS.find((effort) => effort === level) ?? null);
}

/** What the person set for every session. */
export function effortIn(env: Env): EffortChoice | null {
  return parseEffort(env["CHIMERA_THINKING_LEVEL"]);
}

/** What a request asks for, or else every request; null where thinking is not asked for, or the server takes no effort. */
export function effortOf(
  { effort }: Pick<ModelRequest, "effort">,
  { effort: usual, efforts = true }: Efforts,
): Effort | null {
  const asked = efforts ? (effort ?? usual) : null;
  return asked === "off" ? null : asked;
}

/** What a wire's settings say of thinking. */
export interface Efforts {
  /** Asked for where the request says nothing. */
  readonly effort: EffortChoice | null;
  /** Whether the server takes an effort. @defaultValue true */
  readonly efforts?: boolean;
}

/** Tokens of a request, from counts that a server may leave out; those read from the cache are among `prompt`. */
export function usageFrom(counts: Counts): ModelUsage {
  const [prompt = 0, output = 0, cacheRead = 0, reasoning = 0] = COUNTED.map((name) => counts[name] ?? 0);
  return { input: Math.max(0, prompt - cacheRead), output, cacheRead, cacheWrite: 0, reasoning };
}

// --- internal ---

const COUNTED = ["prompt", "output", "cacheRead", "reasoning"] as const;
type Counts = { readonly [name in (typeof COUNTED)[number]]?: number | null | undefined };

const TOKENS: Readonly<Record<Effort, number>> = { low: 4_096, medium: 12_288, high: 24_576 };
