/**
 * Facts about a model by its name, from the dated lists in `facts.json`. An unknown name is taken for a newer model.
 *
 * A row has the name, context window, most output, flags, then dollars per million tokens: input, output, cache read, cache write. Flags:
 * v sees pictures; how it is asked to think: a adaptive, b budget, l level, e effort; r served at /responses. Newest models come first.
 */
import facts from "./facts.json" with { type: "json" };
import type { Price } from "./model.js";
import { type ListName, type ProviderName, type ProviderRow, providers, type WireName } from "./table.js";

/** How a model is asked to think: it decides within an effort (Claude), or gets a number of tokens, a level (Gemini) or an effort. */
export type ThinkingForm = "adaptive" | "budget" | "level" | "effort" | "none";

/** The day the lists were made. */
export const factsDate: string = facts.date;

export interface ModelFacts {
  /** In tokens; undefined when the list does not say. */
  readonly contextWindow: number | undefined;
  /** Most tokens in a reply. A request for more is an error. */
  readonly maxOutput: number | undefined;
  /** Whether it accepts pictures. */
  readonly sees: boolean;
  readonly thinking: ThinkingForm;
  /** The wire at which its vendor serves it, if that is not the usual one. */
  readonly wire: WireName | undefined;
  /** Null when the facts were guessed from a similar model. */
  readonly price: Price | null;
}

/**
 * Null when nothing is known, for example about models on a person's own server. Searches for the whole name, for the name without a
 * date, and for the longest listed name that it begins with; then in OpenRouter's list, which has the models of every vendor; and at
 * last for the newest model of the same family.
 *
 * @example
 * factsOf("anthropic", "claude-sonnet-4-6")?.maxOutput; // 128000
 * factsOf("anthropic", "claude-opus-9")?.price; // null: its other facts are those of the newest Opus
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

/**
 * The names of a provider's models, newest first; empty for a provider without a list.
 *
 * @example
 * const [newest] = listedModels("anthropic");
 */
export function listedModels(provider: ProviderName): string[] {
  const { facts: list } = providers[provider] as ProviderRow;
  return list ? rowsOf(list).map(([name]) => name) : [];
}

// --- internal ---

const EVERYBODYS: ListName = "openrouter";

/** A prefix such as `us.anthropic.` before the model's own name. */
const RESELLER = /^(?:[a-z-]+\.)+(?=[a-z])/;
/** The end of a name that dates a model. Keep it equal to the one in `scripts/update-facts.mjs`. */
const SNAPSHOT = /(?:-preview)?[-@](?:\d{8}|\d{4}-\d\d-\d\d|\d\d-\d\d(?:\d\d)?|\d{3,4}|latest)$/;
/** What may follow a listed name in the name of a variant. A short number would make it another version. */
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
  // OpenRouter's names begin with the vendor, which other servers leave out.
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

/** The newest model with the same words before the first number, or else with the same first word. */
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
