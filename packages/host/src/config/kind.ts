/** The kinds of values a setting takes, read from a flag, a variable or JSON. Each returns undefined for a value of another kind. */
import { resolve } from "node:path";
import { isJsonObject, orElse } from "@chimera/acp-schema/lenient";
import type { ProviderPackage } from "@chimera/agent/providers";
import type { Limits, Quotas } from "@chimera/session";
import { type EngineSetting, PRESETS } from "./engine-setting.js";

export interface Kind<T> {
  /** A description of valid values, for messages: `a whole number of at least 1`. */
  readonly takes: string;
  /** @param base the directory that relative paths start from. */
  fromText(text: string, base: string): T | undefined;
  fromJson(value: unknown, base: string): T | undefined;
  /** The first row that is not valid, by its name, where a value is made of rows. */
  wrongRow?(value: unknown): string | undefined;
}

export const text = written("a text that is not empty", (value) => value.trim() || undefined);

export const path = written("a path", toPath);

/** `a,b` on the command line, an array in JSON. */
export const list: Kind<readonly string[]> = {
  takes: "names, separated by commas",
  fromText: (value) => toNames(value.split(",")),
  fromJson: (value) =>
    Array.isArray(value) && value.every((item) => typeof item === "string") ? toNames(value) : undefined,
};

/** A `list` of paths. */
export const paths: Kind<readonly string[]> = {
  takes: "paths, separated by commas",
  fromText: (value, base) => list.fromText(value, base)?.map((item) => resolve(base, item)),
  fromJson: (value, base) => list.fromJson(value, base)?.map((item) => resolve(base, item)),
};

export const toggle: Kind<boolean> = {
  takes: "true or false",
  fromText: (value) => {
    const typed = value.trim().toLowerCase();
    return ON.includes(typed) || (OFF.includes(typed) ? false : undefined);
  },
  fromJson: (value) => (typeof value === "boolean" ? value : undefined),
};

export function number(bounds: {
  readonly whole?: boolean;
  readonly min?: number;
  readonly max?: number;
}): Kind<number> {
  const { whole = false, min = 0, max = Number.MAX_SAFE_INTEGER } = bounds;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  const fits = (value: number) =>
    Number.isFinite(value) && value >= min && value <= max && (!whole || Number.isInteger(value));
  return {
    takes: `${whole ? "a whole number" : "a number"} ${range}`,
    fromText: (value) => (/^\d+(\.\d+)?$/.test(value) && fits(Number(value)) ? Number(value) : undefined),
    fromJson: (value) => (typeof value === "number" && fits(value) ? value : undefined),
  };
}

export function choice<T extends string>(words: readonly T[]): Kind<T> {
  const pick = (value: unknown) => words.find((word) => word === value);
  return { takes: `one of ${words.join(", ")}`, fromText: pick, fromJson: pick };
}

/** Provider packages. JSON also in a variable: `{"bedrock": {"package": "@ai-sdk/amazon-bedrock", "options": {"region": "eu-west-1"}}}`. */
export const packages = byName(
  'providers by name, each {"package": …} with "options" and "context_window" where wanted',
  toPackage,
);

/** `{"inner": {"command": "otter", "args": ["acp"]}, "codex": {"auth": "chatgpt"}}`. */
export const engines = byName(
  `agents by name, each {"command": …} with "args", "env", "pass_env", "auth" and "state" where wanted; only ${[...PRESETS.keys()].join(", ")} have a command already`,
  toEngine,
);

/** The words of a plain command line; quotes hold words together. */
export const words = written("a command with its arguments", toWords);

/** `{"each": {"turns": 4, "usd_per_day": 5}, "all": {"sessions": 200}}`. */
export const quotas = structured(
  '{"each": …, "all": …} with "sessions", "turns", "prompts_per_minute", "usd_per_day", "streams" and "disk_bytes"',
  toQuotas,
);

/** Narrows a switch that takes something away: on when either is on. */
export function either(ours: boolean, theirs: boolean): boolean {
  return ours || theirs;
}

/** Narrows a limit: the smaller of the two. */
export function least(ours: number | null, theirs: number | null): number | null {
  if (ours === null || theirs === null) return ours ?? theirs;
  return Math.min(ours, theirs);
}

/** Narrows a list of what is allowed: the names that are in both. */
export function intersect(ours: readonly string[] | null, theirs: readonly string[] | null): readonly string[] | null {
  if (ours === null || theirs === null) return ours ?? theirs;
  const allowed = new Set(ours.map((name) => name.toLowerCase()));
  return theirs.filter((name) => allowed.has(name.toLowerCase()));
}

// --- internal ---

const LIMIT_NAMES: ReadonlyMap<string, keyof Limits> = new Map([
  ["sessions", "sessions"],
  ["turns", "turns"],
  ["prompts_per_minute", "promptsPerMinute"],
  ["usd_per_day", "usdPerDay"],
  ["streams", "streams"],
  ["disk_bytes", "diskBytes"],
]);

function toQuotas(value: unknown): Quotas | undefined {
  if (!isJsonObject(value) || !Object.keys(value).every((name) => name === "each" || name === "all")) return undefined;
  const groups = Object.entries(value).map(([name, limits]) => [name, toLimits(limits)] as const);
  return groups.every(([, limits]) => limits) ? Object.fromEntries(groups) : undefined;
}

function toLimits(value: unknown): Limits | null {
  if (!isJsonObject(value)) return null;
  const rows = Object.entries(value).map(([name, limit]) => [LIMIT_NAMES.get(name), limit] as const);
  const fits = rows.every(([name, limit]) => name !== undefined && typeof limit === "number" && limit >= 0);
  return fits ? Object.fromEntries(rows) : null;
}

/** A kind that is written as text, also in JSON. */
function written<T>(takes: string, fromText: Kind<T>["fromText"]): Kind<T> {
  return {
    takes,
    fromText,
    fromJson: (value, base) => (typeof value === "string" ? fromText(value, base) : undefined),
  };
}

/** A kind that is written as JSON, also in a variable. */
function structured<T>(takes: string, fromJson: (value: unknown) => T | undefined): Kind<T> {
  return { takes, fromJson, fromText: (value) => orElse(() => fromJson(JSON.parse(value)), undefined) };
}

/** A kind for rows by name. One invalid row makes the whole value invalid. */
function byName<T extends object>(
  takes: string,
  toRow: (row: unknown, name: string) => T | null,
): Kind<Readonly<Record<string, T>>> {
  const read = (name: string, row: unknown) => (/^[\w.-]+$/.test(name) ? toRow(row, name) : null);
  const kind = structured(takes, (value) => {
    if (!isJsonObject(value)) return undefined;
    const rows = Object.entries(value).map(([name, row]) => [name, read(name, row)]);
    return rows.every(([, row]) => row) ? Object.fromEntries(rows) : undefined;
  });
  const wrongRow = (value: unknown) =>
    Object.entries(isJsonObject(value) ? value : {}).find((row) => !read(...row))?.[0];
  return { ...kind, wrongRow };
}

function toEngine(row: unknown, name: string): EngineSetting | null {
  if (!isJsonObject(row)) return null;
  const { command, args, env, pass_env: passEnv, auth, state, ...rest } = row;
  const isText = (one: unknown) => typeof one === "string" && one !== "" && !one.includes("\0");
  const isTexts = (one: unknown) => Array.isArray(one) && one.every((text) => typeof text === "string");
  const isTextMap = isJsonObject(env ?? {}) && Object.values(env ?? {}).every((text) => typeof text === "string");
  const fits =
    [args ?? [], passEnv ?? []].every(isTexts) &&
    [command, auth, state].every((one) => one === undefined || isText(one)) &&
    isTextMap &&
    (command !== undefined || PRESETS.has(name)) &&
    Object.keys(rest).length === 0;
  if (!fits) return null;
  const given = Object.entries({ command, args, env, passEnv, auth, state }).filter(([, one]) => one !== undefined);
  return { ...PRESETS.get(name), ...Object.fromEntries(given) } as EngineSetting;
}

function toWords(line: string): readonly string[] | undefined {
  const found = [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? "",
  );
  return found.length > 0 && found[0] !== "" ? found : undefined;
}

function toPackage(row: unknown): ProviderPackage | null {
  if (!isJsonObject(row)) return null;
  const { package: name, options = {}, context_window: contextWindow = null, ...rest } = row;
  const fits = contextWindow === null || (Number.isInteger(contextWindow) && (contextWindow as number) > 0);
  if (typeof name !== "string" || !name || !isJsonObject(options) || !fits || Object.keys(rest).length > 0) return null;
  return { package: name, options, contextWindow: contextWindow as number | null };
}

const ON = ["1", "true", "yes", "on"];
const OFF = ["0", "false", "no", "off"];

function toPath(value: string, base: string): string | undefined {
  return value === "" || value.includes("\0") ? undefined : resolve(base, value);
}

function toNames(items: readonly string[]): readonly string[] {
  return items.map((item) => item.trim()).filter(Boolean);
}
