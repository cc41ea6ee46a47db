/**
 * `@chimera/acp-schema/summary`: summaries of sessions, for lists and reports that do not read logs. A summary can be made from the log
 * at any time. It is small even if a prompt is long, so that a list of many sessions fits into memory. This is an entry of its own,
 * because code that reads summaries needs no schema.
 */

import { beginningOf } from "./define/text.js";
import { FLAG_OPTIONS, type Flags } from "./events/modes.js";

/** Version 1 had the whole first prompt and no state. */
export const SUMMARY_VERSION = 2;

/** How many characters of the first prompt a summary has. */
export const PROMPT_LENGTH = 200;

/** `idle`: no turn runs. `waiting`: a turn waits for the answer to a permission request. */
export type SummaryState = "idle" | "running" | "waiting";

/** What the program keeps of a session beside its log. */
export interface Summary {
  /** The version of this form. */
  readonly v: number;
  /** The id of the session. */
  readonly session_id: string;
  /** The same id. */
  readonly run_id: string;
  /** The time when the session was made; null if it is not known. */
  readonly started_at: string | null;
  /** The time when the last turn ended; null if none has. */
  readonly ended_at: string | null;
  /** The name of the model. */
  readonly model: string;
  /** The beginning of the first prompt. */
  readonly prompt: string;
  /** The session's directory. */
  readonly cwd: string;
  /** Further directories of the session. */
  readonly directories: readonly string[];
  /** The program that made the session: otter or ferret. */
  readonly agent: string;
  /** How many requests went to the model. */
  readonly steps: number;
  /** How many tools were called. */
  readonly tool_calls_total: number;
  /** How many turns it has; 0 for a session without a prompt. */
  readonly turns: number;
  /** Whether the last turn ended successfully. */
  readonly success: boolean;
  /** The cost so far in dollars. */
  readonly cost_usd: number;
  /** All tokens so far, in and out. */
  readonly total_tokens: number;
  /** The tokens that went to the model. */
  readonly input_tokens: number;
  /** The tokens that the model answered with. */
  readonly output_tokens: number;
  /** The tokens that the provider had in its cache. */
  readonly cache_tokens: number;
  /** Why the last turn failed; null if it did not. */
  readonly error: string | null;
  /** The title; null without one. */
  readonly title: string | null;
  /** Whether a turn runs, or waits for the answer to a permission request. */
  readonly state: SummaryState;
  /** The person who made the session; absent for the program's own user. */
  readonly owner?: string;
  /** Whether other people may read the session. */
  readonly shared?: boolean;
  /** The id of the session that this one is a copy of; absent for any other. */
  readonly parent_id?: string;
  /** The time when the copy was made. */
  readonly forked_at?: string;
  /** The settings that the session was made with, as far as they differ from those of its program. */
  readonly bounds?: SummaryBounds;
  /** The engine that runs its turns, if a client chose one. */
  readonly engine?: string;
  /** The sender's key of the request that made the session, or else of its first prompt. */
  readonly key?: string;
  /** A digest of the request with that key. */
  readonly request?: string;
  /** Whether its owner tore it down. It is kept as a record and takes no more prompts. */
  readonly closed?: boolean;
  /** The permission mode; present for sessions that other programs made. */
  readonly permission_mode?: string;
  /** The sandbox; present for sessions that other programs made. */
  readonly sandbox?: string;
  /** The approval preset; present for sessions that other programs made. */
  readonly approval?: string;
}

export interface SummaryBounds extends Partial<Flags> {
  /** The agent definition, such as build or plan. */
  readonly agent?: string;
  /** The most requests to the model in a turn; null for no limit. */
  readonly maxSteps?: number | null;
  /** The most that the session may cost, in dollars; null for no limit. */
  readonly maxCostUsd?: number | null;
  /** The names of the tools that the agent may use; null for all of them. */
  readonly allowedTools?: readonly string[] | null;
  /** Further settings by name. */
  readonly options?: Readonly<Record<string, string | boolean>>;
}

/** The fields that the log of a session does not have. */
const BIRTH = [
  "started_at",
  "model",
  "cwd",
  "directories",
  "agent",
  "owner",
  "parent_id",
  "forked_at",
  "bounds",
  "key",
  "request",
] as const satisfies (keyof Summary)[];
export type Birth = Pick<Summary, (typeof BIRTH)[number]>;

/**
 * A stored summary with bounded fields and the given id. Fields that another program or a crash left out get defaults.
 *
 * @example
 * const summary = readSummary(id, JSON.parse(readFileSync(file, "utf8")));
 */
export function readSummary(id: string, stored: object): Summary {
  if (isCurrent(id, stored)) return stored;
  const given = stored as Readonly<Record<string, unknown>>;
  const text = (name: string, length: number): string | null => {
    const value = given[name];
    return typeof value === "string" ? beginningOf(value, length) : null;
  };
  const time = (name: string): string | null => {
    const value = text(name, LONG);
    return Number.isNaN(Date.parse(value ?? "")) ? null : value;
  };
  const number = (...names: readonly string[]): number => {
    for (const name of names) {
      const value = toNumber(given[name]);
      if (value !== null) return value;
    }
    return 0;
  };
  const integer = (...names: readonly string[]): number => Math.trunc(number(...names));
  const optional = (name: string, value: unknown): object | false => value !== null && { [name]: value };
  const prompt = text("prompt", PROMPT_LENGTH) ?? "";
  return {
    v: SUMMARY_VERSION,
    session_id: id,
    run_id: id,
    started_at: time("started_at"),
    ended_at: time("ended_at"),
    model: text("model", LONG) ?? "",
    prompt,
    cwd: text("cwd", LONG) ?? "",
    directories: textsOf(given["directories"]),
    agent: text("agent", LONG) ?? /^[^-]*/.exec(id)![0],
    steps: integer("steps"),
    tool_calls_total: integer("tool_calls_total", "tool_calls"),
    // Other programs do not count turns, but each of their runs had a prompt.
    turns: given["turns"] === undefined ? 1 : integer("turns"),
    success: given["success"] === true,
    cost_usd: number("cost_usd"),
    total_tokens: integer("total_tokens", "tokens_total"),
    input_tokens: integer("input_tokens", "prompt_tokens", "tokens_input"),
    output_tokens: integer("output_tokens", "completion_tokens", "tokens_output"),
    cache_tokens: integer("cache_tokens", "cache_read_input_tokens", "cache_read_tokens", "cached_tokens"),
    error: text("error", LONG),
    title: text("title", TITLE_LENGTH),
    state: STATES.find((state) => state === given["state"]) ?? "idle",
    ...optional("owner", text("owner", LONG)),
    ...optional("shared", given["shared"] === true || null),
    ...optional("parent_id", text("parent_id", LONG)),
    ...optional("forked_at", time("forked_at")),
    ...optional("bounds", boundsOf(given["bounds"])),
    ...optional("engine", text("engine", LONG)),
    ...optional("key", text("key", LONG)),
    ...optional("request", text("request", LONG)),
    ...optional("closed", given["closed"] === true || null),
    ...optional("permission_mode", text("permission_mode", LONG)),
    ...optional("sandbox", text("sandbox", LONG)),
    ...optional("approval", text("approval", LONG)),
  };
}

/**
 * The part of a summary that no record has.
 *
 * @example
 * const { cwd } = birthOf(summary);
 */
export function birthOf(summary: Summary): Birth {
  return Object.fromEntries(BIRTH.map((name) => [name, summary[name]]).filter(([, value]) => value !== undefined));
}

/**
 * The summary of a session that no process holds. No turn can run in it, even if a process that died wrote so.
 *
 * @example
 * unheld(summary).state; // "idle"
 */
export function unheld(summary: Summary): Summary {
  return summary.state === "idle" ? summary : { ...summary, state: "idle" };
}

// --- internal ---

const TITLE_LENGTH = 200;
/** Longer than any path, name or message that people read in a list. */
const LONG = 4096;
const MOST_DIRECTORIES = 256;
const MOST_OPTIONS = 64;
const STATES: readonly SummaryState[] = ["idle", "running", "waiting"];

const isText = (value: unknown, length = LONG): boolean => typeof value === "string" && value.length <= length;
// The length is limited too, because `Date.parse` accepts a remark of any length after a date.
const isTime = (value: unknown): boolean => isText(value) && !Number.isNaN(Date.parse(value as string));
const isTrue = (value: unknown): boolean => value === true;
const orNull = (is: typeof isText, length?: number) => (value: unknown) => value === null || is(value, length);
const ifThere = (is: typeof isText) => (value: unknown) => value === undefined || is(value);

/** Whether each field holds a value that this version writes. */
const WRITTEN: Readonly<Record<keyof Summary, (value: unknown) => boolean>> = {
  v: (value) => value === SUMMARY_VERSION,
  session_id: isText,
  run_id: isText,
  started_at: orNull(isTime),
  ended_at: orNull(isTime),
  model: isText,
  prompt: (value) => isText(value, PROMPT_LENGTH),
  cwd: isText,
  directories: (value) =>
    Array.isArray(value) && value.length <= MOST_DIRECTORIES && value.every((directory) => isText(directory)),
  agent: isText,
  steps: Number.isFinite,
  tool_calls_total: Number.isFinite,
  turns: Number.isFinite,
  success: (value) => typeof value === "boolean",
  cost_usd: Number.isFinite,
  total_tokens: Number.isFinite,
  input_tokens: Number.isFinite,
  output_tokens: Number.isFinite,
  cache_tokens: Number.isFinite,
  error: orNull(isText),
  title: orNull(isText, TITLE_LENGTH),
  state: (value) => STATES.includes(value as SummaryState),
  owner: ifThere(isText),
  shared: ifThere(isTrue),
  parent_id: ifThere(isText),
  forked_at: ifThere(isTime),
  // Bounds decide what a session may do, so they are always validated by `boundsOf`.
  bounds: (value) => value === undefined,
  engine: ifThere(isText),
  key: ifThere(isText),
  request: ifThere(isText),
  closed: ifThere(isTrue),
  permission_mode: ifThere(isText),
  sandbox: ifThere(isText),
  approval: ifThere(isText),
};
const FIELDS = Object.keys(WRITTEN) as (keyof Summary)[];

/** Whether this version wrote the summary unchanged, so that it needs no further checks. This halves the time of a long list. */
function isCurrent(id: string, stored: object): stored is Summary {
  const given = stored as Partial<Record<keyof Summary, unknown>>;
  let fields = 0;
  for (const name of FIELDS) {
    const value = given[name];
    if (!WRITTEN[name](value)) return false;
    if (value !== undefined) fields += 1;
  }
  return given.session_id === id && Object.keys(given).length === fields;
}
function textsOf(value: unknown): string[] {
  const texts = Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
  return texts.slice(0, MOST_DIRECTORIES).map((text) => beginningOf(text, LONG));
}

function boundsOf(value: unknown): SummaryBounds | null {
  if (typeof value !== "object" || value === null) return null;
  const given = value as Readonly<Record<string, unknown>>;
  const { agent, maxSteps, maxCostUsd, allowedTools, options } = given;
  const flags = Object.values(FLAG_OPTIONS).filter((flag) => typeof given[flag] === "boolean");
  return {
    ...Object.fromEntries(flags.map((flag) => [flag, given[flag]])),
    ...(typeof agent === "string" && { agent: beginningOf(agent, LONG) }),
    // Null means unlimited, so an unreadable limit is left out.
    ...(isLimit(maxSteps) && { maxSteps }),
    ...(isLimit(maxCostUsd) && { maxCostUsd }),
    ...(allowedTools === null && { allowedTools }),
    ...(Array.isArray(allowedTools) && { allowedTools: textsOf(allowedTools) }),
    ...(typeof options === "object" && options !== null && { options: optionsOf(options) }),
  };
}

function isLimit(value: unknown): value is number | null {
  return value === null || (typeof value === "number" && value >= 0);
}

function optionsOf(given: object): Record<string, string | boolean> {
  const known = Object.entries(given).flatMap(([id, value]): [string, string | boolean][] => {
    if (typeof value === "boolean") return [[id, value]];
    return typeof value === "string" ? [[id, beginningOf(value, LONG)]] : [];
  });
  return Object.fromEntries(known.slice(0, MOST_OPTIONS));
}

function toNumber(value: unknown): number | null {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : null;
}
