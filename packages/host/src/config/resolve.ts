/** Resolves settings: flags win over the environment, then the project's file, the user's file and defaults. Every value has its source. */
import { dirname } from "node:path";
import type { FlagValues } from "../command/flag.js";
import { nearest, UsageError } from "../command/usage-error.js";
import { HOW_TO_TRUST } from "../trust.js";
import { CONFIG_KEYS, type ConfigKey, type ConfigName, type ConfigValues } from "./keys.js";

export type ConfigLayer = "flag" | "environment" | "project" | "user" | "default";

/** A parsed file of settings. */
export interface ConfigFile {
  readonly path: string;
  readonly values: Readonly<Record<string, unknown>>;
}

export interface Setting {
  readonly name: string;
  readonly value: unknown;
  readonly layer: ConfigLayer;
  /** The flag, the variable or the file that decided; empty for a default. */
  readonly from: string;
  /** The project's limit, which also bounds values that a client asks for later. */
  readonly limit?: unknown;
}

export interface ConfigLayers {
  /** The program's name, for its variables. */
  readonly program: string;
  /** The program's own settings, besides those that every program has. */
  readonly rows: Readonly<Record<string, ConfigKey<string>>>;
  readonly flags: FlagValues;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directory to which relative paths in flags and variables refer. */
  readonly cwd: string;
  readonly user: ConfigFile | null;
  readonly project: ConfigFile | null;
  /** Whether the person trusts the project. @defaultValue they do not */
  readonly trusted?: () => boolean;
  /** Replace the defaults of the table. */
  readonly defaults?: Partial<ConfigValues>;
}

export interface ResolvedConfig {
  readonly values: ConfigValues & Readonly<Record<string, unknown>>;
  readonly settings: readonly Setting[];
  /** Messages about unknown keys, and about keys that a project may not set. Both are ignored. */
  readonly problems: readonly string[];
  /** The settings that the project's file would set if the person trusted the directory. */
  readonly untrusted: readonly string[];
}

/** Throws a usage error for an invalid value, naming its flag, variable or file. */
export function resolveConfig(given: ConfigLayers): ResolvedConfig {
  const rows = { ...CONFIG_KEYS, ...given.rows } as unknown as Rows;
  const groups = new Set(Object.keys(rows).flatMap((name) => (name.includes(".") ? name.split(".", 1) : [])));
  const layers = { ...given, user: ungroup(given.user, groups), project: ungroup(given.project, groups) };
  const wishes = Object.keys(layers.project?.values ?? {}).filter((name) => rows[name]?.project === "set");
  const isRefused = wishes.length > 0 && !(layers.trusted?.() ?? false);
  const settings = Object.entries(rows).map(([name, row]) =>
    resolveOne(name, row, isRefused && row.project === "set" ? { ...layers, project: null } : layers),
  );
  const untrusted = isRefused ? wishes.map((name) => `the setting ${name} of ${layers.project?.path}`) : [];
  const values = Object.fromEntries(settings.map(({ name, value }) => [name, value]));
  return {
    values: values as unknown as ResolvedConfig["values"],
    settings: settings.map((setting) => {
      const show = rows[setting.name]?.show;
      return show ? { ...setting, value: show(setting.value) } : setting;
    }),
    problems: [
      ...unknownKeys(rows, layers.user),
      ...unknownKeys(rows, layers.project),
      ...forbiddenKeys(rows, layers.project),
      ...untrusted.map((wish) => `${wish} is left out: the directory is not trusted. ${HOW_TO_TRUST}`),
    ],
    untrusted,
  };
}

/** A setting with its source and limit. */
export function settingOf({ settings }: Pick<ResolvedConfig, "settings">, name: string): Setting | undefined {
  return settings.find((setting) => setting.name === name);
}

/** `*_MODEL` -> `OTTER_MODEL`. */
export function variableOf(name: ConfigName, program: string): string {
  return variable(CONFIG_KEYS[name], program);
}

// --- internal ---

type Rows = Readonly<Record<string, ConfigKey<unknown>>>;

function variable({ env }: Pick<ConfigKey<unknown>, "env">, program: string): string {
  return env.replace("*", program.toUpperCase().replaceAll(/\W/g, "_"));
}

function resolveOne(name: string, row: ConfigKey<unknown>, layers: ConfigLayers): Setting {
  const flag = readFlag(row, layers);
  if (flag !== undefined) return { name, value: flag, layer: "flag", from: `--${row.flag}` };
  const from = variable(row, layers.program);
  const set = layers.env[from];
  if (set) return { name, value: readText(row, from, set, layers.cwd), layer: "environment", from };
  return underProject(name, row, layers.project, underUser(name, row, layers));
}

function underUser(name: string, row: ConfigKey<unknown>, { user: file, defaults }: ConfigLayers): Setting {
  const value = readJson(name, row, file);
  if (file === null || value === undefined) {
    return { name, value: defaults?.[name as ConfigName] ?? row.default, layer: "default", from: "" };
  }
  return { name, value, layer: "user", from: file.path };
}

function underProject(name: string, row: ConfigKey<unknown>, file: ConfigFile | null, ours: Setting): Setting {
  if (row.project === "nothing") return ours;
  const theirs = readJson(name, row, file);
  if (file === null || theirs === undefined) return ours;
  const decided = (value: unknown): Setting =>
    Object.is(value, ours.value) ? ours : { name, value, layer: "project", from: file.path };
  if (row.project === "set") return decided(theirs);
  return { ...decided(row.project.narrow(ours.value, theirs)), limit: theirs };
}

function readFlag(row: ConfigKey<unknown>, { flags, cwd }: ConfigLayers): unknown {
  const given = row.flag === undefined ? undefined : flags[row.flag];
  if (given === undefined) return undefined;
  if (typeof given === "boolean") return given ? !row.default : row.default;
  return readText(row, `--${row.flag}`, typeof given === "string" ? given : given.join(","), cwd);
}

function readText(row: ConfigKey<unknown>, where: string, given: string, base: string): unknown {
  const value = row.kind.fromText(given, base);
  if (value === undefined) throw refusal(where, row, given);
  return value;
}

/** Null in a file means the same as a missing key. */
function readJson(name: string, row: ConfigKey<unknown>, file: ConfigFile | null): unknown {
  const given = file !== null && Object.hasOwn(file.values, name) ? file.values[name] : null;
  if (file === null || given === null) return undefined;
  const value = row.kind.fromJson(given, dirname(file.path));
  if (value === undefined) throw refusal(`${file.path}: ${name}`, row, given);
  return value;
}

function refusal(where: string, { kind, show }: ConfigKey<unknown>, given: unknown): UsageError {
  const wrong = kind.wrongRow?.(given);
  const row = wrong === undefined ? "" : `; the row ${JSON.stringify(wrong)} is not valid`;
  return new UsageError(`${where} takes ${kind.takes}${show ? row : `, not ${shown(given)}`}`);
}

function kindOf(given: object): string {
  return Array.isArray(given) ? "a list" : "an object";
}

function shown(given: unknown): string {
  // `JSON.stringify` could overflow the stack on a deeply nested list or object.
  const text = typeof given === "object" && given !== null ? kindOf(given) : JSON.stringify(given);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** Flattens the groups of a file: `{"safety": {"read_only": true}}` -> `{"safety.read_only": true}`. */
function ungroup(file: ConfigFile | null, groups: ReadonlySet<string>): ConfigFile | null {
  if (file === null) return null;
  const values = Object.entries(file.values).flatMap(([name, value]) => {
    if (!groups.has(name)) return [[name, value]];
    if (value === null) return [];
    if (typeof value !== "object" || Array.isArray(value))
      throw new UsageError(`${file.path}: ${name} takes an object of settings, not ${shown(value)}`);
    return Object.entries(value).map(([inner, setting]) => [`${name}.${inner}`, setting]);
  });
  return { ...file, values: Object.fromEntries(values) };
}

function unknownKeys(rows: Rows, file: ConfigFile | null): string[] {
  const unknown = Object.keys(file?.values ?? {}).filter((name) => !Object.hasOwn(rows, name));
  return unknown.map((name) => {
    const close = nearest(name, Object.keys(rows));
    return `${file?.path}: unknown setting ${JSON.stringify(name)}${close ? `; did you mean ${close}?` : ""}`;
  });
}

function forbiddenKeys(rows: Rows, file: ConfigFile | null): string[] {
  const forbidden = Object.keys(file?.values ?? {}).filter((name) => rows[name]?.project === "nothing");
  return forbidden.map(
    (name) => `${file?.path}: a project may not set ${name}; it belongs in your own config or on the command line`,
  );
}
