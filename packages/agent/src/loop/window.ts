/** What a turn used and cost, how full the model's context window is, and how full it may get. */
import type { Metadata, Part } from "@chimera/acp-schema/events";
import type { Model, ModelMessage, ModelRequest, Usage } from "../providers/model.js";

export interface Window {
  /** Tokens that a request with these messages would have, as closely as can be known. */
  tokens(messages: readonly ModelMessage[]): number;
  /** The same for the messages alone. */
  size(messages: readonly ModelMessage[]): number;
  /** Tokens beyond which a request leaves no room for its reply. */
  readonly limit: number;
  /** The most tokens that a reply to these messages may have; undefined: whatever the model does by itself. */
  roomFor(messages: readonly ModelMessage[]): number | undefined;
  /** The provider counted a request. */
  measure(messages: readonly ModelMessage[], usage: Usage): void;
  /** The provider refused a request as too long: the window is smaller than it was said to be. */
  refused(messages: readonly ModelMessage[]): void;
}

/** `overhead` is what every request has besides its messages. */
export function createWindow(
  { contextWindow, maxOutput }: Pick<Model, "contextWindow" | "maxOutput">,
  overhead: Pick<ModelRequest, "system" | "tools">,
): Window {
  const fixed = overhead.system.length + overhead.tools.reduce((sum, tool) => sum + declaredLength(tool), 0);
  /** Tokens counted for each token estimated. */
  let ratio = 1;
  let limit = Math.min(contextWindow * FULLEST, contextWindow - reserve(contextWindow, maxOutput));
  const estimate = (messages: readonly ModelMessage[], more = fixed): number => {
    let characters = more;
    for (const message of messages) characters += lengthOf(message);
    return characters / CHARACTERS_PER_TOKEN;
  };
  const tokens = (messages: readonly ModelMessage[]): number => Math.ceil(estimate(messages) * ratio);
  return {
    tokens,
    size: (messages) => Math.ceil(estimate(messages, 0) * ratio),
    get limit() {
      return limit;
    },
    roomFor(messages) {
      if (maxOutput === undefined) return undefined;
      const left = Math.floor(contextWindow * (1 - MARGIN) - tokens(messages));
      return Math.min(maxOutput, Math.max(LEAST_REPLY, left));
    },
    measure(messages, { input, cacheRead, cacheWrite }) {
      const counted = input + cacheRead + cacheWrite;
      const estimated = estimate(messages);
      // A server that does not count, or counts only what it has not seen before, teaches nothing.
      if (!(counted > estimated / 2) || !Number.isFinite(counted)) return;
      ratio = Math.min(Math.max(counted / estimated, LOWEST_RATIO), HIGHEST_RATIO);
    },
    refused(messages) {
      limit = Math.min(limit, tokens(messages) * REFUSED_SHARE);
    },
  };
}

/** What a turn used and cost, kept as the full state that each usage event carries. */
export interface Spending {
  add(usage: Usage): void;
  /** Of this turn, in US dollars. */
  readonly cost: number;
  /** Of the session, this turn included. */
  readonly total: number;
  /** How much of the context window a request filled, with its reply. */
  usedBy(usage: Usage): number;
  /** The conversation was made smaller: the window is filled so far now. */
  fill(tokens: number): void;
  state(): Metadata<"usage">;
}

export function createSpending(model: Pick<Model, "price" | "contextWindow">, spentUsd: number): Spending {
  const { price } = model;
  const size = tokens(model.contextWindow);
  const sum = { input: 0, output: 0, cache: 0, reasoning: 0 };
  let cost = 0;
  let used = 0;
  const usedBy = (usage: Usage): number =>
    tokens(usage.input) + tokens(usage.cacheRead) + tokens(usage.cacheWrite) + tokens(usage.output);
  return {
    usedBy,
    add(usage) {
      const [input, output, cacheRead, cacheWrite] = [usage.input, usage.output, usage.cacheRead, usage.cacheWrite].map(
        tokens,
      ) as [number, number, number, number];
      sum.input += input + cacheWrite;
      sum.output += output;
      sum.cache += cacheRead;
      sum.reasoning += tokens(usage.reasoning);
      used = usedBy(usage);
      if (!price) return;
      cost +=
        (input * price.input + output * price.output + cacheRead * price.cacheRead + cacheWrite * price.cacheWrite) /
        1_000_000;
    },
    get cost() {
      return cost;
    },
    get total() {
      return spentUsd + cost;
    },
    fill(filled) {
      used = tokens(filled);
    },
    state: () => ({ ...sum, total_usd: spentUsd + cost, priced: price !== null, used, size }),
  };
}

// --- internal ---

const CHARACTERS_PER_TOKEN = 4;
/** No tokenizer makes less of a text than the one, or more of it than the other. */
const LOWEST_RATIO = 0.75;
const HIGHEST_RATIO = 6;
/** A picture is worth about as many tokens as this many characters. */
const PICTURE_CHARACTERS = 6_000;
const FULLEST = 0.9;
const MARGIN = 0.02;
const REFUSED_SHARE = 0.8;
/** More than any step needs, though some models could say four times as much. */
const LONGEST_REPLY = 32_000;
const LEAST_REPLY = 1_024;

function reserve(contextWindow: number, maxOutput = LONGEST_REPLY): number {
  return Math.min(maxOutput, LONGEST_REPLY, contextWindow / 4) + contextWindow * MARGIN;
}

/** Schemas do not change either, and every turn declares them. */
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

/** Messages do not change, and each is counted again with every step. */
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
    case "summary":
      return message.text.length;
    case "user":
      return message.content?.length
        ? message.content.reduce((sum, block) => sum + blockLength(block), 0)
        : message.text.length;
  }
}

/** Reasoning that nobody sealed is not sent. */
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

/** Providers have been seen to send null, fractions and less than nothing; what is too much to add up is worth nothing either. */
function tokens(value: number): number {
  return Number.isSafeInteger(Math.round(value)) && value > 0 ? Math.round(value) : 0;
}
