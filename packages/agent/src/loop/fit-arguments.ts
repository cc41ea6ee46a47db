/**
 * Fits a model's arguments to a tool's JSON Schema where it is plain what the model meant: `"5"` for 5, null for an option it
 * leaves out, `file_path` for `path`. Each of these used to cost a round trip. What is not plain stays as it came, and the
 * tool's own validation explains it to the model.
 */
import { plainWord } from "@chimera/acp-schema/text";
import { isJsonObject, parseJson } from "../json.js";
import type { JsonSchema } from "../tool.js";

type Fields = Readonly<Record<string, unknown>>;

/** Returns `args` itself when nothing had to change. */
export function fitArguments(args: Record<string, unknown>, schema: JsonSchema): Record<string, unknown> {
  return fitObject(unwrapped(args, propertiesOf(schema)), schema) as Record<string, unknown>;
}

// --- internal ---

/** A property and what models trained on other tools call it. A name counts only where the schema has no such property. */
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

/** Properties counted in seconds, which models often send in milliseconds: no limit is above ten minutes. */
const SECONDS = new Set(["timeout"]);
const MILLISECONDS = /_(ms|millis)$/;

/** Keys under which some models wrap the whole object. */
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
    // Models write null for an option they leave out.
    if (given === null && property && !required.includes(key) && !accepts(property, "null")) {
      changed = true;
      continue;
    }
    const fit = property ? fitValue(given, property, key) : given;
    if (fit !== given) changed = true;
    // Not by assignment, which would set a prototype for the key `__proto__`.
    Object.defineProperty(fitted, key, { value: fit, enumerable: true, configurable: true, writable: true });
  }
  return changed ? fitted : value;
}

/** Gives properties that are missing the value sent under another of their names. */
function renamed(value: Fields, properties: Fields, additional: unknown): Fields {
  // A schema that takes any further key may mean this one.
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

/** `filePath`, `file-path` and `File_Path` are one name. */
function plain(name: string): string {
  return name.replace(/[_-]/g, "").toLowerCase();
}

function accepts(schema: JsonSchema, type: string): boolean {
  const { type: own } = schema;
  if (own === undefined) return true;
  return Array.isArray(own) ? own.includes(type) : own === type;
}

function fitValue(value: unknown, schema: JsonSchema, key: string): unknown {
  // Where a schema leaves several shapes open, what came may be one of them.
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

/** Clamps to the bounds: the nearest value that is allowed is what the model would send next. */
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

/** `["bash", "-lc", "npm test"]` is the command itself; other lists are words, each quoted for the shell. */
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

/** A text where an object with one required text is expected is that text. */
function wrapped(value: unknown, schema: JsonSchema): unknown {
  const required = Array.isArray(schema["required"]) ? (schema["required"] as string[]) : [];
  const [name] = required;
  if (typeof value !== "string" || name === undefined || required.length > 1) return value;
  return propertiesOf(schema)[name]?.["type"] === "string" ? { [name]: value } : value;
}

/** JSON that was sent as text, when it holds what is wanted; everything else as it came. */
function parsed(value: unknown, wanted: (candidate: unknown) => boolean): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  const inner = parseJson(value);
  return wanted(inner) ? inner : value;
}
