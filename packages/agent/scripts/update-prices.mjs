// Writes src/providers/prices.gen.ts from the price list of the pinned devDependency @pydantic/genai-prices, so that a
// price change is a reviewed diff and the published package carries no price library. Run it after raising the pin.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { findProvider } from "@pydantic/genai-prices";

const listed = ["anthropic", "openai", "openrouter", "x-ai", "google", "deepseek"];
const target = new URL("../src/providers/prices.gen.ts", import.meta.url);

const entry = createRequire(import.meta.url).resolve("@pydantic/genai-prices");
const { version } = JSON.parse(readFileSync(join(dirname(entry), "..", "package.json"), "utf8"));

/** The rows in force today, where a model's price has changed over time. */
function currentPrices(prices) {
  if (!Array.isArray(prices)) return prices;
  const today = new Date().toISOString().slice(0, 10);
  const open = prices.filter(({ constraint }) => !constraint || (constraint.start_date ?? "9999") <= today);
  return open.at(-1)?.prices ?? prices[0].prices;
}

/** Equality and prefix matches; the few rows that need a pattern are left out. */
function matchesOf(match) {
  if (match.or) return match.or.flatMap(matchesOf);
  if (match.equals) return [`=${match.equals.toLowerCase()}`];
  if (match.starts_with) return [`^${match.starts_with.toLowerCase()}`];
  return [];
}

const base = (price) => (typeof price === "object" && price !== null ? price.base : price);

const rows = listed.flatMap((provider) =>
  (findProvider({ providerId: provider })?.models ?? []).flatMap(({ match, context_window, prices }) => {
    const now = currentPrices(prices);
    const input = base(now.input_mtok);
    const output = base(now.output_mtok);
    if (input === undefined || output === undefined) return [];
    const cacheRead = base(now.cache_read_mtok) ?? input;
    const cacheWrite = base(now.cache_write_mtok) ?? input;
    return matchesOf(match).map((name) =>
      [provider, name, context_window ?? "", input, output, cacheRead, cacheWrite].join("\t"),
    );
  }),
);

const date = process.argv[2] ?? new Date().toISOString().slice(0, 10);
writeFileSync(
  target,
  `/** Written by scripts/update-prices.mjs from @pydantic/genai-prices ${version}; do not edit. */

/** The day the list was made. */
export const pricesDate = "${date}";

/** provider, match (= whole name, ^ start), context window, then dollars per million: input, output, cache read, cache write. */
export const priceRows = \`${[...new Set(rows)].sort().join("\n")}\`;
`,
);
process.stdout.write(`${rows.length} rows\n`);
