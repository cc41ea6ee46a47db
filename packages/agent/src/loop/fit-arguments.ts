/**
 * Corrects a model's arguments by the tool's JSON Schema when its meaning is clear: `"5"` for 5, null for an omitted option,
 * `file_path` for `path`. Each correction saves a round trip. Everything else stays unchanged, and the tool's own validation
 * explains the mistake to the model.
 */
import { plainWord } from "@chimera/acp-schema/text";
import { isJsonObject, parseJson } from "../json.js";
import type { JsonSchema } from "../tool.js";

type Fields = Readonly<Record<string, unknown>>;

/** Returns `args` itself when it needs no correction. */
export function fitArguments(args: Record<string, unknown>, schema: JsonSchema): Record<string, unknown> {
  return fitObject(unwrapped(args, propertiesOf(schema)), schema) as Record<string, unknown>;
}

// --- internal ---

/** Property -> names that models trained on other tools use for it. A name that is itself a property is not an alias. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  path: ["file_path", "file", "filename", "target_file", "absolute_path", "directory", "dir_path", "dir", "folder"],
  command: ["cmd", "script", "command_line"],
  cwd: ["workdir", "working_directory", "directory", "dir"],
  timeout: ["timeout_s", "timeout_seconds", "timeout_ms", "timeout_millis"],
  content: ["contents", "file_text", "file_content", "text"],
  old_string: ["old_str", "old_text", "old"],
  new_string: ["new_str", "new_text", "new"],
  replacement: ["replace", "new_string"],
  pattern: ["regex", "query", "search"],
  glob: ["include", "file_pattern", "glob_pattern"],
  offset: ["start_line", "line", "from"],
  limit: ["max_lines", "num_lines", "line_count"],
  todos: ["items", "plan", "tasks"],
};

/** Properties in seconds that models often send in milliseconds. No limit is above ten minutes, so large values show it. */
const SECONDS = new Set(["timeout"]);
const MILLISECONDS = /_(ms|millis)$/;

/** Keys in which some models wrap the whole object. */
const WRAPPERS = ["arguments", "input", "parameters", "args", "params"];

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return isJsonObject(schema["properties"]) ? (schema["properties"] as Record<string, JsonSchema>) : {};
}

function unwrapped(args: Record<string, unknown>, properties: Fields): Record<string, unknown> {
  const [key, ...others] = Object.keys(args);
  if (key === undefined || others.length > 0 || !WRAPPERS.includes(key) || Object.hasOwn(properties, key)) return args;
  const inner = parsed(args[key], isJsonObject);
  return isJsonObject(inner) ? inner : args;
}

function fitObject(value: Fields, schema: JsonSchema): Fields {
  const properties = propertiesOf(schema);
  const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  const named = renamed(value, properties, schema["additionalProperties"]);
  const fitted: Record<string, unknown> = {};
  let changed = named !== value;
  for (const [key, given] of Object.entries(named)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    // Models write null for an option that they omit.
    if (given === null && property && !required.includes(key) && !accepts(property, "null")) {
      changed = true;
      continue;
    }
    const fit = property ? fitValue(given, property, key) : given;
    if (fit !== given) changed = true;
    // An assignment would set the prototype when the key is `__proto__`.
    Object.defineProperty(fitted, key, { value: fit, enumerable: true, configurable: true, writable: true });
  }
  return changed ? fitted : value;
}

/** Fills missing properties with the values sent under one of their aliases. */
function renamed(value: Fields, properties: Fields, additional: unknown): Fields {
  // The schema accepts further keys, so an unknown key may be intended.
  if (additional === true || isJsonObject(additional)) return value;
  const strays = Object.keys(value).filter((key) => !Object.hasOwn(properties, key));
  const missing = Object.keys(properties).filter((key) => !Object.hasOwn(value, key));
  if (strays.length === 0 || missing.length === 0) return value;
  const result: Record<string, unknown> = { ...value };
  for (const name of missing) {
    const known = Object.hasOwn(ALIASES, name) ? (ALIASES[name] ?? []).map(plain) : [];
    const stray = strays.find(
      (key) => Object.hasOwn(result, key) && (plain(key) === plain(name) || known.includes(plain(key))),
    );
    if (stray === undefined) continue;
    const given = result[stray];
    result[name] = SECONDS.has(name) && MILLISECONDS.test(stray) && Number(given) > 0 ? Number(given) / 1000 : given;
    delete result[stray];
  }
  return Object.keys(result).every((key) => Object.hasOwn(value, key)) ? value : result;
}

/** Makes `filePath`, `file-path` and `File_Path` the same name. */
function plain(name: string): string {
  return name.replace(/[_-]/g, "").toLowerCase();
}

function accepts(schema: JsonSchema, type: string): boolean {
  const { type: own } = schema;
  if (own === undefined) return true;
  return Array.isArray(own) ? own.includes(type) : own === type;
}

function fitValue(value: unknown, schema: JsonSchema, key: string): unknown {
  // The schema allows several types, so the value may already be right.
  if (typeof schema["type"] !== "string") return value;
  const fit = Object.hasOwn(FITS, schema["type"]) ? FITS[schema["type"]] : undefined;
  return fit ? fit(value, schema, key) : value;
}

const FITS: Readonly<Record<string, (value: unknown, schema: JsonSchema, key: string) => unknown>> = {
  number: fitNumber,
  integer: fitNumber,
  boolean: (value) => BOOLEANS.get(typeof value === "string" ? value.trim().toLowerCase() : value) ?? value,
  string: fitString,
  array: fitArray,
  object: (value, schema) => {
    const given = parsed(value, isJsonObject);
    return isJsonObject(given) ? fitObject(given, schema) : wrapped(value, schema);
  },
};

const BOOLEANS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [1, true],
  [0, false],
  ["true", true],
  ["false", false],
]);

/** Clamps to the bounds, because the nearest allowed value is what the model would send next. */
function fitNumber(value: unknown, schema: JsonSchema, key: string): unknown {
  const isText = typeof value === "string" && /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value);
  const given = isText ? Number(value) : value;
  if (typeof given !== "number" || !Number.isFinite(given)) return value;
  const { minimum, maximum } = schema as { minimum?: unknown; maximum?: unknown };
  const high = typeof maximum === "number" ? maximum : Number.POSITIVE_INFINITY;
  const low = typeof minimum === "number" ? minimum : Number.NEGATIVE_INFINITY;
  const meant = SECONDS.has(key) && given > high && given >= 1000 ? given / 1000 : given;
  const whole = schema["type"] === "integer" ? Math.round(meant) : meant;
  return Math.max(low, Math.min(high, whole));
}

function fitString(value: unknown, schema: JsonSchema, key: string): unknown {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value) && value.every((part) => typeof part === "string")) {
    return key === "command" ? commandLine(value as string[]) : value.join("\n");
  }
  // A model that writes a JSON file often forgets to quote its content.
  if (key === "content" && typeof value === "object" && value !== null) return JSON.stringify(value, null, 2);
  return typeof value === "string" && Array.isArray(schema["enum"]) ? fitChoice(value, schema["enum"]) : value;
}

function fitChoice(value: string, choices: readonly unknown[]): string {
  if (choices.includes(value)) return value;
  const near = choices.filter((choice) => typeof choice === "string" && plain(choice) === plain(value.trim()));
  return near.length === 1 ? (near[0] as string) : value;
}

/** `["bash", "-lc", "npm test"]` becomes `npm test`. Another list becomes its words, each quoted for the shell. */
function commandLine(words: readonly string[]): string {
  const [program = "", flag = "", line] = words;
  if (words.length === 3 && line !== undefined && /(^|\/)(ba|z|da)?sh$/.test(program) && /^-l?c$/.test(flag))
    return line;
  if (words.length === 1) return program;
  return words.map(plainWord).join(" ");
}

function fitArray(value: unknown, schema: JsonSchema): unknown {
  const items = schema["items"];
  const given = parsed(value, Array.isArray);
  const list = Array.isArray(given) ? given : given === null || given === undefined ? given : [given];
  if (!Array.isArray(list) || !isJsonObject(items)) return list;
  const fitted = list.map((item) => fitValue(item, items as JsonSchema, ""));
  return list === value && fitted.every((item, index) => item === list[index]) ? value : fitted;
}

/** A text becomes the object that the schema expects, if the object has a single required property and that is a text. */
function wrapped(value: unknown, schema: JsonSchema): unknown {
  const required = Array.isArray(schema["required"]) ? (schema["required"] as string[]) : [];
  const [name] = required;
  if (typeof value !== "string" || name === undefined || required.length > 1) return value;
  return propertiesOf(schema)[name]?.["type"] === "string" ? { [name]: value } : value;
}

/** Parses JSON that was sent as text, if the result is wanted; returns anything else unchanged. */
function parsed(value: unknown, wanted: (candidate: unknown) => boolean): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  const inner = parseJson(value);
  return wanted(inner) ? inner : value;
}
