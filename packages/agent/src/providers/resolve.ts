/** Finds the address and headers for a model's name and an environment. Pure: it opens and reads nothing. */
import type { Chain } from "./chains.js";
import { factsOf, type ModelFacts } from "./facts.js";
import { isMatch, keysOf, routeOf } from "./route.js";
import type { Elsewhere, Env, LimitField, ProviderName, ProviderRow, RouteRow } from "./table.js";
import { providers, routes } from "./table.js";

/** How to reach a model. Contains the key, so never log it. */
export interface ModelAddress {
  readonly provider: ProviderName;
  readonly wire: ProviderRow["wire"];
  /** The model's name at the provider; for `scripted`, the path of the script. */
  readonly model: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly contextWindow: number;
  /** Known facts about the model; null without any. */
  readonly facts: ModelFacts | null;
  readonly limitField: LimitField | null;
  /** Added to the error when no server offers the model at the address; null when the error alone is enough. */
  readonly remedy: string | null;
  /** The message when the provider refuses the key: the provider, the variable, the model, and what to do. */
  readonly refusal: string;
}

/**
 * Throws `model_unavailable` when the environment does not say how to reach the provider.
 *
 * @example
 * const { provider, model } = modelAddress("openai/gpt-4o", process.env, openaiFirst);
 */
export function modelAddress(name: string, env: Env, chain: Chain): ModelAddress {
  const { row: route, provider, model, served, base } = routeOf(name, env, chain);
  const usual: ProviderRow = providers[provider];
  const facts = factsOf(provider, served);
  const row: ProviderRow = { ...usual, ...usual.elsewhere?.find((place) => isAt(place, base, facts)) };
  return {
    provider,
    wire: row.wire,
    model: served,
    url: endpoint(base, row).replace("{model}", encodeURIComponent(served)),
    headers: { ...authorization(row, env), ...extraHeaders(row, env) },
    contextWindow: facts?.contextWindow ?? route.contextWindow ?? row.contextWindow,
    facts,
    limitField: row.limitField ?? null,
    remedy: row.keyNeeded || !row.baseUrl ? null : remedy(model, route, row.baseUrl.env),
    refusal: refusal(provider, served, row, env),
  };
}

// --- internal ---

function endpoint(base: string, { root = "", path = "" }: ProviderRow): string {
  const bare = trimmed(base);
  return `${bare.endsWith(root) ? bare : bare + root}${path}`;
}

function trimmed(base: string): string {
  return base.replace(/\/+$/, "");
}

function isAt({ baseEnds, host, listed, wire }: Elsewhere, base: string, facts: ModelFacts | null): boolean {
  if (baseEnds !== undefined && !trimmed(base).endsWith(baseEnds)) return false;
  if (host !== undefined && !new RegExp(`^https?://${host}(?:[:/]|$)`, "i").test(base)) return false;
  return !listed || facts?.wire === wire;
}

function authorization({ keys = [] }: ProviderRow, env: Env): Readonly<Record<string, string>> {
  const key = keys.find(({ env: variable }) => env[variable]);
  const value = key && env[key.env];
  if (!value) return {};
  return key.header === "bearer" ? { authorization: `Bearer ${value}` } : { [key.header]: value };
}

function refusal(provider: string, model: string, row: ProviderRow, env: Env): string {
  const set = row.keys?.find(({ env: variable }) => env[variable])?.env;
  const what = set ? `refuses the key in ${set}` : "wants a key";
  const first = set ? "check the key and its account" : `set ${keysOf(row) || "one"}`;
  return `${provider} ${what} for ${model}: ${first}, or choose another model`;
}

function extraHeaders({ headers = {} }: ProviderRow, env: Env): Record<string, string> {
  const set = Object.entries(headers).flatMap(([variable, header]) => {
    const value = env[variable];
    return value ? [[header, value]] : [];
  });
  return Object.fromEntries(set);
}

/** Says which provider the name stood for, and which providers would have come first if they had been set up. */
function remedy(model: string, route: RouteRow, address: string): string {
  const others = routes.slice(0, routes.indexOf(route)).filter((row) => row.whenSetUp && isMatch(row, model));
  return [
    `${model} is taken for a model of ${route.provider} (${address} says where that is)`,
    ...others.map((row) => `with ${keysOf(providers[row.provider])} set, ${row.provider} serves it`),
  ].join("; ");
}
