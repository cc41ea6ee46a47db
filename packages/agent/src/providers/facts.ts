/**
 * What is known of a model by its name, from the dated lists in `facts.json`. A name that nobody knows is a new one.
 *
 * A row has the name, context window, most output, flags, then dollars per million: input, output, cache read, cache write. Flags: v
 * sees pictures; thinks by a (itself), b (a budget), l (a level), e (an effort); r is served at /responses. Newest first.
 */
import facts from "./facts.json" with { type: "json" };
import type { Price } from "./model.js";
import { type ListName, type ProviderName, type ProviderRow, providers, type WireName } from "./table.js";

/** How a model is asked to think: it decides within an effort (Claude), or is given tokens, a level (Gemini) or an effort. */
export type ThinkingForm = "adaptive" | "budget" | "level" | "effort" | "none";

/** The day the lists were made. */
export const factsDate: string = facts.date;

export interface ModelFacts {
  /** Tokens; undefined where the list does not say. */
  readonly contextWindow: number | undefined;
  /** Tokens of a reply. Asking a model for more than it can is an error. */
  readonly maxOutput: number | undefined;
  /** Whether it takes pictures. */
  readonly sees: boolean;
  readonly thinking: ThinkingForm;
  /** Where its vendor serves it, if not at the usual endpoint. */
  readonly wire: WireName | undefined;
  /** null for a model that is only thought to be like another one. */
  readonly price: Price | null;
}

/**
 * null when nothing is known, as of models on a person's own server. A model is looked for by its whole name, by its name without a date, then by the longest listed name that
 * its own begins with; then in OpenRouter's list, which has the models of every vendor; and last as the newest of its family.
 *
 * @example
 * factsOf("anthropic", "claude-sonnet-4-6")?.maxOutput; // 128000
 * factsOf("anthropic", "claude-opus-9")?.price; // null: like the newest Opus, but nobody knows what it costs
 */
export function factsOf(provider: ProviderName, model: string): ModelFacts | null {
  const { facts: list } = providers[provider] as ProviderRow;
  if (!list) return null;
  const name = model.toLowerCase().replace(RESELLER, "");
  const listed = findListed(list, name);
  if (listed) return listed;
  const alike = (list === EVERYBODYS ? null : findListed(EVERYBODYS, name)) ?? findFamily(list, name);
  return alike && { ...alike, price: null };
}

/** The names of a provider's models, newest first; none where no list has them. */
export function listedModels(provider: ProviderName): string[] {
  const { facts: list } = providers[provider] as ProviderRow;
  return list ? rowsOf(list).map(([name]) => name) : [];
}

// --- internal ---

const EVERYBODYS: ListName = "openrouter";

/** `us.anthropic.` before the name proper. */
const RESELLER = /^(?:[a-z-]+\.)+(?=[a-z])/;
/** The end of a name that says when a model was made; `scripts/update-facts.mjs` has the same. */
const SNAPSHOT = /(?:-preview)?[-@](?:\d{8}|\d{4}-\d\d-\d\d|\d\d-\d\d(?:\d\d)?|\d{3,4}|latest)$/;
/** What may follow a listed name: a variant of it. Another number is another version. */
const VARIANT = /^[-:@](?!\d{1,2}(?!\d))/;

type Row = readonly [name: string, rest: string];

const parsed = new Map<ListName, readonly Row[]>();

function rowsOf(list: ListName): readonly Row[] {
  const known = parsed.get(list);
  if (known) return known;
  const rows = (facts.lists satisfies Record<ListName, string[]>)[list].map((row): Row => {
    const end = row.indexOf(" ");
    return [row.slice(0, end), row.slice(end + 1)];
  });
  parsed.set(list, rows);
  return rows;
}

function findListed(list: ListName, name: string): ModelFacts | null {
  const plain = name.replace(SNAPSHOT, "");
  // A list of every vendor has the vendor in its names, which other servers leave out.
  const bare = list === EVERYBODYS && !name.includes("/");
  let [best, length] = ["", 0];
  for (const [row, rest] of rowsOf(list)) {
    const known = bare ? row.slice(row.indexOf("/") + 1) : row;
    if (known === name) return parse(rest);
    const fits = known === plain || (name.startsWith(known) && VARIANT.test(name.slice(known.length)));
    if (fits && known.length > length) [best, length] = [rest, known.length];
  }
  if (!best) return null;
  return length === plain.length ? parse(best) : { ...parse(best), price: null };
}

/** The newest of the names that begin with the same words before the first number, else of those with the same first word. */
function findFamily(list: ListName, name: string): ModelFacts | null {
  const stem = stemOf(name);
  const [word = ""] = stem.split("-");
  const rows = rowsOf(list);
  const row = rows.find(([one]) => stemOf(one) === stem) ?? rows.find(([one]) => stemOf(one).split("-")[0] === word);
  return row ? parse(row[1]) : null;
}

function stemOf(name: string): string {
  return name.replace(/-?v?\d.*$/, "");
}

const FORMS: Readonly<Record<string, ThinkingForm>> = { a: "adaptive", b: "budget", l: "level", e: "effort" };

function parse(rest: string): ModelFacts {
  const [window, most, flags = "", ...prices] = rest.split(" ");
  const [input, output, cacheRead, cacheWrite] = prices.map(Number);
  const form = [...flags].find((flag) => FORMS[flag]);
  const price =
    input === undefined || output === undefined
      ? null
      : { input, output, cacheRead: cacheRead ?? input, cacheWrite: cacheWrite ?? input };
  return {
    contextWindow: Number(window) || undefined,
    maxOutput: Number(most) || undefined,
    sees: flags.includes("v"),
    thinking: form ? (FORMS[form] as ThinkingForm) : "none",
    wire: flags.includes("r") ? "responses" : undefined,
    price,
  };
}
