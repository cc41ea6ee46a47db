/** What a turn used and cost, kept as the full state that each usage event carries. */
import type { Metadata } from "@chimera/acp-schema/events";
import type { Model, Usage } from "../providers/model.js";

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

/** Providers have been seen to send null, fractions and less than nothing; what is too much to add up is worth nothing either. */
function tokens(value: number): number {
  return Number.isSafeInteger(Math.round(value)) && value > 0 ? Math.round(value) : 0;
}
