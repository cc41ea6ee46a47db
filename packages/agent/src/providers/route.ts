/** Finds the provider for a model's name in an environment. Pure and small, because a program that only lists models loads just this. */
import { AgentError } from "../errors.js";
import type { Chain } from "./chains.js";
import { type Env, type ProviderName, type ProviderRow, providers, type RouteRow, routes } from "./table.js";

/** The provider and address that a name stands for. */
export interface ModelRoute {
  readonly row: RouteRow;
  readonly provider: ProviderName;
  /** The whole name. */
  readonly model: string;
  /** The model's name at the provider; for `scripted`, the path of the script. */
  readonly served: string;
  /** The provider's address: from the environment, or the usual one. */
  readonly base: string;
}

/**
 * An empty name lets the chain choose a model for which there is a key. Without any key that is `offline`.
 *
 * @example
 * routeOf("ollama/llama4", process.env, anthropicFirst).provider; // "ollama"
 */
export function routeOf(name: string, env: Env, chain: Chain): ModelRoute {
  const model = name.trim() || defaultModel(env, chain);
  const row = routeFor(model, env) as RouteRow;
  const { provider } = row;
  const start = row.strip ? (row.starts?.find((prefix) => startsWith(model, prefix)) ?? "") : "";
  const { keys, baseUrl, keyNeeded }: ProviderRow = providers[provider];
  const hasKey = keys?.some(({ env: variable }) => env[variable]);
  const custom = baseUrl && env[baseUrl.env];
  if (keyNeeded && !hasKey && !custom)
    throw unserved(model, provider, `set ${keysOf(providers[provider])}, or choose another model`);
  const base = custom ? withScheme(custom) : (hasKey && baseUrl?.withKey) || (baseUrl?.standard ?? "");
  if (baseUrl && !base) throw unserved(model, provider, `set ${baseUrl.env} to its address`);
  return { row, provider, model, served: model.slice(start.length), base };
}

/**
 * The model for an empty name.
 *
 * @example
 * defaultModel({ OPENAI_API_KEY: "..." }, anthropicFirst); // the chain's model for that key
 */
export function defaultModel(env: Env, chain: Chain): string {
  return chain.find((row) => env[row.env])?.model ?? "offline";
}

/**
 * All providers, and whether the environment says how to reach them.
 *
 * @example
 * listProviders(process.env).filter(({ configured }) => configured).map(({ name }) => name);
 */
export function listProviders(env: Env): { name: ProviderName; configured: boolean }[] {
  return (Object.entries(providers) as [ProviderName, ProviderRow][]).map(([name, row]) => ({
    name,
    configured: !row.baseUrl || isSetUp(row, env),
  }));
}

/**
 * Whether the environment sets up any provider whose models are listed in `facts.json`.
 *
 * @example
 * if (hasListedModels(process.env)) showPicker();
 */
export function hasListedModels(env: Env): boolean {
  return Object.values(providers as Record<string, ProviderRow>).some((row) => row.facts && isSetUp(row, env));
}

/**
 * Models for a picker: the default model, and the newest models of each provider that has a key. `listed` is `listedModels` of the facts.
 *
 * @example
 * const choices = suggestModels(process.env, anthropicFirst, listedModels);
 */
export function suggestModels(env: Env, chain: Chain, listed: (provider: ProviderName) => readonly string[]): string[] {
  const ready = (Object.entries(providers) as [ProviderName, ProviderRow][]).filter(([, row]) => isSetUp(row, env));
  const newest = ready.flatMap(([name]) =>
    listed(name)
      .slice(0, OFFERED)
      .flatMap((model) => [model, `${name}/${model}`].find((id) => routeFor(id, env)?.provider === name) ?? []),
  );
  return [...new Set([...chain.filter((row) => env[row.env]).map((row) => row.model), ...newest, "offline"])];
}

/** Whether a row matches this model name. */
export function isMatch({ contains, starts = [] }: RouteRow, model: string): boolean {
  return contains === undefined ? starts.some((prefix) => startsWith(model, prefix)) : model.includes(contains);
}

/** The variables for a provider's key, as text for a person. */
export function keysOf({ keys = [] }: ProviderRow): string {
  return keys.map((key) => key.env).join(" or ");
}

// --- internal ---

/** Most models of one provider in a picker. A person can type the name of any other. */
const OFFERED = 12;

function routeFor(model: string, env: Env): RouteRow | undefined {
  return routes.find((row) => {
    if (row.whenEnv && !row.whenEnv.some((variable) => env[variable])) return false;
    return (!row.whenSetUp || isSetUp(providers[row.provider], env)) && isMatch(row, model);
  });
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

function unserved(model: string, provider: ProviderName, remedy: string): AgentError {
  return new AgentError("model_unavailable", `${model} is served by ${provider}: ${remedy}`);
}
