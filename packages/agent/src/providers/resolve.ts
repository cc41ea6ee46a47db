/** From a model's name and an environment to where and how it is reached. Pure: nothing is opened, nothing is read. */
import { AgentError } from "../errors.js";
import type { Chain } from "./chains.js";
import { factsOf, type ModelFacts } from "./facts.js";
import {
  type Elsewhere,
  type Env,
  type LimitField,
  type ProviderName,
  type ProviderRow,
  providers,
  type RouteRow,
  routes,
} from "./table.js";

/** Where a model is reached. Carries the key: never log it. */
export interface ModelAddress {
  readonly provider: ProviderName;
  readonly wire: ProviderRow["wire"];
  /** As the provider names it; for `scripted`, the path of the script. */
  readonly model: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly contextWindow: number;
  /** What is known of the model; null when nothing is. */
  readonly facts: ModelFacts | null;
  readonly limitField: LimitField | null;
  /** What to say beside the failure when nobody serves the model there; null where the failure says enough. */
  readonly remedy: string | null;
}

/** An empty name means "whatever there is a key for": the chain decides, and without any key `offline` answers. */
export function resolveModel(name: string, env: Env, chain: Chain): ModelAddress {
  const model = name.trim() || defaultModel(env, chain);
  const route = routes.find((row) => fits(row, model, env)) as RouteRow;
  const start = route.strip ? (route.starts?.find((prefix) => startsWith(model, prefix)) ?? "") : "";
  const usual: ProviderRow = providers[route.provider];
  const served = model.slice(start.length);
  const hasKey = usual.keys?.some(({ env: variable }) => env[variable]);
  const custom = usual.baseUrl && env[usual.baseUrl.env];
  if (usual.keyNeeded && !hasKey && !custom) throw missingKey(model, route.provider, usual);
  const base = custom ? withScheme(custom) : (hasKey && usual.baseUrl?.withKey) || (usual.baseUrl?.standard ?? "");
  if (usual.baseUrl && !base) throw missingAddress(model, route.provider, usual.baseUrl.env);
  const facts = factsOf(route.provider, served);
  const row: ProviderRow = { ...usual, ...usual.elsewhere?.find((place) => isAt(place, base, facts)) };
  return {
    provider: route.provider,
    wire: row.wire,
    model: served,
    url: endpoint(base, row).replace("{model}", encodeURIComponent(served)),
    headers: { ...authorization(row, env), ...extraHeaders(row, env) },
    contextWindow: facts?.contextWindow ?? route.contextWindow ?? row.contextWindow,
    facts,
    limitField: row.limitField ?? null,
    remedy: row.keyNeeded || !row.baseUrl ? null : remedy(model, route, row.baseUrl.env),
  };
}

/** The model an empty name stands for. */
export function defaultModel(env: Env, chain: Chain): string {
  return chain.find((row) => env[row.env])?.model ?? "offline";
}

/** The providers, and whether the environment says how to reach them. */
export function listProviders(env: Env): { name: ProviderName; configured: boolean }[] {
  return (Object.entries(providers) as [ProviderName, ProviderRow][]).map(([name, row]) => ({
    name,
    configured: !row.baseUrl || isSetUp(row, env),
  }));
}

/** Models worth offering in a picker: the default of each provider there is a key for. */
export function suggestModels(env: Env, chain: Chain): string[] {
  return [...chain.filter((row) => env[row.env]).map((row) => row.model), "offline"];
}

// --- internal ---

function fits(row: RouteRow, model: string, env: Env): boolean {
  if (row.whenEnv && !row.whenEnv.some((variable) => env[variable])) return false;
  if (row.whenSetUp && !isSetUp(providers[row.provider], env)) return false;
  return isNamed(row, model);
}

function isNamed({ contains, starts = [] }: RouteRow, model: string): boolean {
  return contains === undefined ? starts.some((prefix) => startsWith(model, prefix)) : model.includes(contains);
}

function isSetUp({ baseUrl, keys = [] }: ProviderRow, env: Env): boolean {
  return Boolean(baseUrl && env[baseUrl.env]) || keys.some((key) => env[key.env]);
}

function startsWith(model: string, prefix: string): boolean {
  return model.slice(0, prefix.length).toLowerCase() === prefix;
}

/** `OLLAMA_HOST` is often a bare host and port. */
function withScheme(base: string): string {
  if (/^https?:\/\//i.test(base)) return base;
  const [host = "", port] = base.split(":");
  return `http://${host === "0.0.0.0" ? "127.0.0.1" : host}:${port ?? "11434"}`;
}

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

function extraHeaders({ headers = {} }: ProviderRow, env: Env): Record<string, string> {
  const set = Object.entries(headers).flatMap(([variable, header]) => {
    const value = env[variable];
    return value ? [[header, value]] : [];
  });
  return Object.fromEntries(set);
}

function missingKey(model: string, provider: ProviderName, row: ProviderRow): AgentError {
  return new AgentError(
    "model_unavailable",
    `${model} is served by ${provider}: set ${keysOf(row)}, or choose another model`,
  );
}

/** Where the model was looked for, and who would have come first had it been set up. */
function remedy(model: string, route: RouteRow, address: string): string {
  const others = routes.slice(0, routes.indexOf(route)).filter((row) => row.whenSetUp && isNamed(row, model));
  return [
    `${model} is taken for a model of ${route.provider} (${address} says where that is)`,
    ...others.map((row) => `with ${keysOf(providers[row.provider])} set, ${row.provider} serves it`),
  ].join("; ");
}

function keysOf({ keys = [] }: ProviderRow): string {
  return keys.map((key) => key.env).join(" or ");
}

function missingAddress(model: string, provider: ProviderName, variable: string): AgentError {
  return new AgentError("model_unavailable", `${model} is served by ${provider}: set ${variable} to its address`);
}
