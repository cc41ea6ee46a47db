/**
 * The model's window: the conversation at the start of a turn, in a form that every provider accepts; how full the window is and may
 * get; and what the turn used and cost.
 */
import type { Turn } from "@chimera/acp-schema/agent";
import type { CallPart, Message, Metadata, Part } from "@chimera/acp-schema/events";
import { callsOf, textOf } from "@chimera/acp-schema/parts";
import type { Model, ModelMessage, ModelRequest, ModelUsage } from "../providers/model.js";
import { framed } from "./summary.js";

/** The messages of the next request. */
export interface ModelContext {
  messages: ModelMessage[];
  /** Prompt -> number of its turn, where the number is known. */
  readonly numbers: ReadonlyMap<ModelMessage, number>;
  /** How many of the messages were in a request that the provider accepted. */
  accepted: number;
}

export function openModelContext(
  turn: Pick<Turn, "history" | "prompt" | "number" | "seen" | "compact">,
  model: ModelName,
): ModelContext {
  const messages = wellFormed(turn.history, model);
  const prompts = messages.filter((message) => message.role === "user" && !message.note);
  const { seen = [] } = turn;
  const numbers = new Map<ModelMessage, number>();
  // Guess no numbers: with a wrong number, a compaction record would name the wrong turn.
  if (prompts.length === seen.length)
    for (const [at, prompt] of prompts.entries()) numbers.set(prompt, seen[at] as number);
  const accepted = messages.length;
  if (!turn.compact) {
    const prompt: ModelMessage = { role: "user", ...turn.prompt };
    numbers.set(prompt, turn.number);
    messages.push(prompt);
  }
  return { messages, numbers, accepted };
}

export type Window = ReturnType<typeof createWindow>;

/** `overhead` is the part of every request besides its messages. */
export function createWindow(
  { contextWindow, maxOutput }: Pick<Model, "contextWindow" | "maxOutput">,
  overhead: Pick<ModelRequest, "system" | "tools">,
) {
  const fixed = overhead.system.length + overhead.tools.reduce((sum, tool) => sum + declaredLength(tool), 0);
  /** Counted tokens per estimated token. */
  let ratio = 1;
  let limit = Math.min(contextWindow * FULLEST, contextWindow - reserve(contextWindow, maxOutput));
  const estimate = (messages: Messages, more = fixed): number => {
    let characters = more;
    for (const message of messages) characters += lengthOf(message);
    return characters / CHARACTERS_PER_TOKEN;
  };
  const tokens = (messages: Messages): number => Math.ceil(estimate(messages) * ratio);
  return {
    /** Estimates the tokens of a request with these messages. */
    tokens,
    /** Estimates the tokens of the messages alone. */
    size: (messages: Messages): number => Math.ceil(estimate(messages, 0) * ratio),
    /** A request with more tokens than this leaves too little room for its reply. */
    get limit() {
      return limit;
    },
    /** Most tokens of a reply to these messages; undefined leaves it to the model. */
    roomFor(messages: Messages): number | undefined {
      if (maxOutput === undefined) return undefined;
      const left = Math.floor(contextWindow * (1 - MARGIN) - tokens(messages));
      return Math.min(maxOutput, Math.max(LEAST_REPLY, left));
    },
    /** Corrects the estimate by the provider's count of a request. */
    measure(messages: Messages, { input, cacheRead, cacheWrite }: ModelUsage): void {
      const counted = input + cacheRead + cacheWrite;
      const estimated = estimate(messages);
      // Ignore servers that do not count, or that count only text they have not cached.
      if (!(counted > estimated / 2) || !Number.isFinite(counted)) return;
      ratio = Math.min(Math.max(counted / estimated, LOWEST_RATIO), HIGHEST_RATIO);
    },
    /** Lowers the limit after the provider refused a request as too long: the window is smaller than reported. */
    refused(messages: Messages): void {
      limit = Math.min(limit, tokens(messages) * REFUSED_SHARE);
    },
  };
}

/** What a turn used and cost. Each usage event carries this whole state. */
export interface Spending {
  add(usage: ModelUsage): void;
  /** Adds what a task used, because the turn pays for it. */
  absorb(used: Used): void;
  /** Cost of this turn, in US dollars. */
  readonly cost: number;
  /** Cost of the session, including this turn. */
  readonly total: number;
  /** Tokens of the context window that a request and its reply filled. */
  usedBy(usage: ModelUsage): number;
  /** Sets the filled tokens after a compaction. */
  fill(tokens: number): void;
  state(): Metadata<"usage">;
}

interface Used extends Record<"input" | "output" | "cache" | "reasoning", number> {
  /** In US dollars. */
  readonly cost: number;
}

/** @param before the dollars that the session had spent; for a task, the spending of its turn, which pays */
export function createSpending(model: Pick<Model, "price" | "contextWindow">, before: number | Spending): Spending {
  const { price } = model;
  const size = tokens(model.contextWindow);
  const sum = { input: 0, output: 0, cache: 0, reasoning: 0 };
  let cost = 0;
  let used = 0;
  const usedBy = (usage: ModelUsage): number =>
    tokens(usage.input) + tokens(usage.cacheRead) + tokens(usage.cacheWrite) + tokens(usage.output);
  const total = () => (typeof before === "number" ? before + cost : before.total);
  const absorb = (more: Used): void => {
    for (const key of ["input", "output", "cache", "reasoning"] as const) sum[key] += more[key];
    cost += more.cost;
    if (typeof before !== "number") before.absorb(more);
  };
  return {
    usedBy,
    absorb,
    add(usage) {
      const [input, output, cacheRead, cacheWrite] = [usage.input, usage.output, usage.cacheRead, usage.cacheWrite].map(
        tokens,
      ) as [number, number, number, number];
      used = usedBy(usage);
      const millionths = price
        ? input * price.input + output * price.output + cacheRead * price.cacheRead + cacheWrite * price.cacheWrite
        : 0;
      const reasoning = tokens(usage.reasoning);
      absorb({ input: input + cacheWrite, output, cache: cacheRead, reasoning, cost: millionths / 1_000_000 });
    },
    get cost() {
      return cost;
    },
    get total() {
      return total();
    },
    fill(filled) {
      used = tokens(filled);
    },
    state: () => ({ ...sum, total_usd: total(), priced: price !== null, used, size }),
  };
}

// --- internal ---

/** Tool names of questions to the person, which are recorded as tool calls because permissions need one. The model never sees them. */
const questions: ReadonlySet<string> = new Set(["continue_over_budget", "continue_over_steps"]);

type Messages = readonly ModelMessage[];
type ModelName = Pick<Model, "provider" | "id">;

/** Puts each call's result right after it and drops results without a call, because a crash may have left the log without them. */
function wellFormed(history: readonly Message[], model: ModelName): ModelMessage[] {
  const results = new Map<string, Extract<Message, { role: "tool" }>>();
  for (const message of history) if (message.role === "tool") results.set(message.id, message);

  const messages: ModelMessage[] = [];
  for (const message of history) {
    if (message.role === "tool") continue;
    if (message.role !== "assistant") {
      messages.push(message.role === "summary" ? framed(message.text) : message);
      continue;
    }
    const begun = beginningOf(messages.at(-1));
    // Most replies are one text. Keep the same object, because the known lengths are stored by object.
    if (!begun && isPlainReply(message)) {
      messages.push(message);
      continue;
    }
    const parts = message.parts.filter((part) => part.type !== "call" || !questions.has(part.name));
    const calls: readonly CallPart[] = callsOf({ parts });
    if (calls.length === 0 && textOf({ parts }) === "") continue;
    if (begun) messages.pop();
    messages.push({ role: "assistant", parts: [...(begun ?? []), ...parts.map((part) => withOwnSeal(part, model))] });
    for (const { id, name } of calls) {
      messages.push(results.get(id) ?? { role: "tool", id, name, output: "(interrupted: no result)", success: false });
    }
  }
  return messages;
}

function isPlainReply({ parts }: { readonly parts: readonly Part[] }): boolean {
  const [only] = parts;
  return parts.length === 1 && only?.type === "text" && only.text !== "" && !only.seal;
}

/** The text of an interrupted reply that the next message continues. Its reasoning is dropped: it goes back only with a complete reply. */
function beginningOf(previous: ModelMessage | undefined): Part[] | null {
  if (previous?.role !== "assistant") return null;
  return previous.parts.flatMap((part) => (part.type === "text" ? [{ type: "text", text: part.text }] : []));
}

/** Drops a seal of another model, which this model would refuse or could not read. */
function withOwnSeal(part: Part, { provider, id }: ModelName): Part {
  if (!part.seal || (part.seal.provider === provider && part.seal.model === id)) return part;
  const { seal: _seal, ...bare } = part;
  return bare;
}

const CHARACTERS_PER_TOKEN = 4;
/** No tokenizer yields fewer or more tokens than these ratios. */
const LOWEST_RATIO = 0.75;
const HIGHEST_RATIO = 6;
/** A picture uses about as many tokens as this many characters. */
const PICTURE_CHARACTERS = 6_000;
const FULLEST = 0.9;
const MARGIN = 0.02;
const REFUSED_SHARE = 0.8;
/** Tokens; more than any step needs, though some models can write four times as much. */
const LONGEST_REPLY = 32_000;
const LEAST_REPLY = 1_024;

function reserve(contextWindow: number, maxOutput = LONGEST_REPLY): number {
  return Math.min(maxOutput, LONGEST_REPLY, contextWindow / 4) + contextWindow * MARGIN;
}

/** Cached by schema, because schemas do not change and every turn declares them. */
const schemaLengths = new WeakMap<object, number>();

function declaredLength({ name, description, inputSchema }: ModelRequest["tools"][number]): number {
  let length = schemaLengths.get(inputSchema);
  if (length === undefined) {
    length = JSON.stringify(inputSchema).length;
    schemaLengths.set(inputSchema, length);
  }
  return name.length + description.length + length + DECLARATION;
}

/** Characters of `{"name":"","description":"","inputSchema":},`. */
const DECLARATION = 44;

/** Cached by message, because messages do not change and every step counts all of them. */
const lengths = new WeakMap<ModelMessage, number>();

function lengthOf(message: ModelMessage): number {
  const known = lengths.get(message);
  if (known !== undefined) return known;
  const length = count(message);
  lengths.set(message, length);
  return length;
}

function count(message: ModelMessage): number {
  switch (message.role) {
    case "assistant":
      return message.parts.reduce((sum, part) => sum + partLength(part), 0);
    case "tool":
      return message.output.length + (message.images?.length ?? 0) * PICTURE_CHARACTERS;
    case "user":
      return message.content?.length
        ? message.content.reduce((sum, block) => sum + blockLength(block), 0)
        : message.text.length;
  }
}

/** Reasoning without a seal counts as nothing, because it is not sent. */
function partLength(part: Part): number {
  if (part.type === "call") return part.name.length + JSON.stringify(part.args).length;
  return part.type === "text" || part.seal ? part.text.length : 0;
}

function blockLength(block: { readonly type: string; readonly [key: string]: unknown }): number {
  if (block.type === "image") return PICTURE_CHARACTERS;
  const { text, resource } = block as { text?: unknown; resource?: { text?: unknown } };
  const said = typeof text === "string" ? text : resource?.text;
  return typeof said === "string" ? said.length : 0;
}

/** Makes a usable count: some providers send null, fractions or negative numbers. A number too large to add safely counts as 0. */
function tokens(value: number): number {
  return Number.isSafeInteger(Math.round(value)) && value > 0 ? Math.round(value) : 0;
}
