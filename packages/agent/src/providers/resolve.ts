/** From a model's name and an environment to where and how it is reached. Pure: nothing is opened, nothing is read. */
import { AgentError } from "../errors.js";
import {
  type Chain,
  type Elsewhere,
  type Env,
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
  const row: ProviderRow = { ...usual, ...usual.elsewhere?.find((place) => isAt(place, base, served)) };
  return {
    provider: route.provider,
    wire: row.wire,
    model: served,
    url: endpoint(base, row).replace("{model}", encodeURIComponent(served)),
    headers: { ...authorization(row, env), ...extraHeaders(row, env) },
    contextWindow: route.contextWindow ?? row.contextWindow,
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
    configured: !row.baseUrl || Boolean(env[row.baseUrl.env]) || (row.keys ?? []).some((key) => env[key.env]),
  }));
}

/** Models worth offering in a picker: the default of each provider there is a key for. */
export function suggestModels(env: Env, chain: Chain): string[] {
  return [...chain.filter((row) => env[row.env]).map((row) => row.model), "offline"];
}

// --- internal ---

function fits(row: RouteRow, model: string, env: Env): boolean {
  if (row.whenEnv && !row.whenEnv.some((variable) => env[variable])) return false;
  if (row.except?.some((prefix) => startsWith(model, prefix))) return false;
  if (row.contains !== undefined) return model.includes(row.contains);
  return (row.starts ?? []).some((prefix) => startsWith(model, prefix));
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

function isAt({ baseEnds, host, models }: Elsewhere, base: string, model: string): boolean {
  if (baseEnds !== undefined && !trimmed(base).endsWith(baseEnds)) return false;
  if (host !== undefined && !new RegExp(`^https?://${host}(?:[:/]|$)`, "i").test(base)) return false;
  return models?.test(model) ?? true;
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
  const names = (row.keys ?? []).map((key) => key.env).join(" or ");
  return new AgentError(
    "model_unavailable",
    `${model} is served by ${provider}: set ${names}, or choose another model`,
  );
}

function missingAddress(model: string, provider: ProviderName, variable: string): AgentError {
  return new AgentError("model_unavailable", `${model} is served by ${provider}: set ${variable} to its address`);
}
