/** What models cost and how much they hold, from the dated list in `prices.gen.ts`. */
import type { Price } from "./model.js";
import { priceRows } from "./prices.gen.js";
import { type ProviderName, type ProviderRow, providers } from "./table.js";

export interface PriceListing {
  readonly price: Price;
  /** Tokens; undefined where the list does not say. */
  readonly contextWindow: number | undefined;
}

/** null when the list does not know the model. The longest matching row wins; tiers for very long prompts are left out. */
export function findPrice(provider: ProviderName, model: string): PriceListing | null {
  const { prices } = providers[provider] as ProviderRow;
  let best = "";
  let length = -1;
  for (const row of priceRows.split("\n")) {
    const [listed, match = ""] = row.split("\t", 2);
    if (listed !== prices || match.length <= length || !matches(match, model.toLowerCase())) continue;
    best = row;
    length = match.length;
  }
  return best ? parseRow(best) : null;
}

// --- internal ---

/** `=name` is the whole name, `^name` its start. */
function matches(match: string, model: string): boolean {
  const name = match.slice(1);
  return match.startsWith("=") ? model === name : model.startsWith(name);
}

function parseRow(row: string): PriceListing {
  const [, , window, ...numbers] = row.split("\t");
  const [input = 0, output = 0, cacheRead = input, cacheWrite = input] = numbers.map(Number);
  return { price: { input, output, cacheRead, cacheWrite }, contextWindow: Number(window) || undefined };
}
