/** Which provider a model's name leads to in an environment. Pure, and light: a program that only lists models loads no more. */
import { AgentError } from "../errors.js";
import type { Chain } from "./chains.js";
import { type Env, type ProviderName, type ProviderRow, providers, type RouteRow, routes } from "./table.js";

/** Where a name leads. */
export interface Route {
  readonly row: RouteRow;
  readonly provider: ProviderName;
  /** The whole name. */
  readonly model: string;
  /** As the provider names it; for `scripted`, the path of the script. */
  readonly served: string;
  /** The provider's address, as the environment has it or as it usually is. */
  readonly base: string;
}

/** An empty name means "whatever there is a key for": the chain decides, and without any key `offline` answers. */
export function routeOf(name: string, env: Env, chain: Chain): Route {
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

/** Whether a provider can be reached whose models are listed in `facts.json`. */
export function hasListedModels(env: Env): boolean {
  return Object.values(providers as Record<string, ProviderRow>).some((row) => row.facts && isSetUp(row, env));
}

/** Models worth offering in a picker: the default of each provider there is a key for, and the newest that are `listed` of it. */
export function suggestModels(
  env: Env,
  chain: Chain,
  listed: (provider: ProviderName) => readonly string[] = () => [],
): string[] {
  const ready = (Object.entries(providers) as [ProviderName, ProviderRow][]).filter(([, row]) => isSetUp(row, env));
  const newest = ready.flatMap(([name]) =>
    listed(name)
      .slice(0, OFFERED)
      .flatMap((model) => [model, `${name}/${model}`].find((id) => routeFor(id, env)?.provider === name) ?? []),
  );
  return [...new Set([...chain.filter((row) => env[row.env]).map((row) => row.model), ...newest, "offline"])];
}

/** Whether a row is for models of this name. */
export function isNamed({ contains, starts = [] }: RouteRow, model: string): boolean {
  return contains === undefined ? starts.some((prefix) => startsWith(model, prefix)) : model.includes(contains);
}

/** The variables that hold a provider's key, as a person reads them. */
export function keysOf({ keys = [] }: ProviderRow): string {
  return keys.map((key) => key.env).join(" or ");
}

// --- internal ---

/** Models of one provider in a picker; any other can be named. */
const OFFERED = 12;

function routeFor(model: string, env: Env): RouteRow | undefined {
  return routes.find((row) => {
    if (row.whenEnv && !row.whenEnv.some((variable) => env[variable])) return false;
    return (!row.whenSetUp || isSetUp(providers[row.provider], env)) && isNamed(row, model);
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
