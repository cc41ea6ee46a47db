/** A session's settings: those it was made with, and the changes in its log over them. A mode is a name for the values of the three flags. */
import {
  type ChangedSettings,
  FLAG_OPTIONS,
  type Flags,
  isFlagOption,
  MODE_FLAGS,
  MODES,
  type Mode,
  modeOf,
} from "@chimera/acp-schema/conversation";
import type { AgentEvent } from "@chimera/acp-schema/events";
import type { SummaryBounds } from "@chimera/acp-schema/summary";
import { SessionError } from "./errors.js";
import { limits } from "./limits.js";

export interface Settings extends Flags {
  readonly model: string;
  readonly agent: string;
  /** Null: no limit, but the agent asks now and then whether to continue. */
  readonly maxSteps: number | null;
  readonly maxCostUsd: number | null;
  readonly allowedTools: readonly string[] | null;
  /** Settings of a program's extensions, by option id. */
  readonly options: Readonly<Record<string, string | boolean>>;
}

/**
 * One change by a client. `option` is the id of a flag or of an extension's option. A blank title removes the title. `shared` lets other
 * people read the session. Every client sees `warning` together with the change.
 */
export type SettingChange =
  | { readonly model: string }
  | { readonly agent: string }
  | { readonly mode: Mode }
  | { readonly approval: string; readonly warning?: string | undefined }
  | { readonly option: string; readonly value: string | boolean }
  | { readonly title: string }
  | { readonly shared: boolean };

/** Option id -> its values, the strictest first. */
export type OptionOrders = Readonly<Record<string, readonly string[]>>;

/** The settings of a session if nobody sets others. Only the model has no default. */
export const DEFAULT_SETTINGS: Omit<Settings, "model"> = {
  agent: "build",
  ...MODE_FLAGS.review,
  maxSteps: null,
  maxCostUsd: null,
  allowedTools: null,
  options: {},
};

/** The settings of a new session: those of the request over the program's start settings. */
export function madeWith(start: Settings, asked: Partial<Settings>): Settings {
  return { ...start, ...asked, options: { ...start.options, ...asked.options } };
}

/** The settings that a session was made with and that differ from the program's start settings. Stored, so that they hold after a restart. */
export function ownSettings(made: Settings, start: Settings): SummaryBounds {
  const own: Record<string, unknown> = {};
  for (const name of OWN) if (made[name] !== start[name]) own[name] = made[name];
  const options = Object.entries(made.options).filter(([id, value]) => value !== start.options[id]);
  return { ...own, ...(options.length > 0 && { options: Object.fromEntries(options) }) };
}

/** The current settings: the changes in the log over those that the session was made with. */
export function settingsOf(made: Settings, changed: ChangedSettings): Settings {
  return { ...made, ...changed, options: { ...made.options, ...changed.options } };
}

/** The records of changes. They are written together. Throws `invalid_setting`. */
export function changeEvents(changes: readonly SettingChange[], now: Settings): AgentEvent[] {
  return changes.flatMap((change): AgentEvent[] => {
    const event = changeEvent(change, now);
    const text = "approval" in change ? change.warning : undefined;
    return text === undefined ? [event] : [event, { type: "notice", metadata: { level: "warning", text } }];
  });
}

/** The settings after a restart: for each one, the stricter of log and start settings, so that neither an old log nor a crash widens any. */
export function narrower(logged: Settings, start: Settings, orders: OptionOrders): Settings {
  const options = { ...logged.options };
  for (const [option, order] of Object.entries(orders)) {
    const [now, first] = [logged.options[option], start.options[option]];
    if (typeof first === "string" && !isWithin(order, now, first)) options[option] = first;
  }
  const readOnly = logged.readOnly || start.readOnly;
  return {
    ...logged,
    autoApproveWrites: !readOnly && logged.autoApproveWrites && start.autoApproveWrites,
    autoApproveExecute: !readOnly && logged.autoApproveExecute && start.autoApproveExecute,
    readOnly,
    options,
  };
}

/** Whether a change may allow something that the settings do not allow now. Another model or agent counts as such. */
export function widens(change: SettingChange, now: Settings, orders: OptionOrders): boolean {
  if ("model" in change) return change.model !== now.model;
  if ("agent" in change) return change.agent !== now.agent;
  if ("title" in change) return false;
  if ("shared" in change) return change.shared;
  const next = changed(change, now);
  const least = narrower(next, now, orders);
  const isLess = Object.values(FLAG_OPTIONS).some((flag) => least[flag] !== next[flag]);
  return isLess || Object.keys(orders).some((id) => least.options[id] !== next.options[id]);
}

type Bounds = Pick<Settings, "maxSteps" | "maxCostUsd" | "allowedTools">;

/** The stricter of two sets of bounds. Bounds have no records, so after a restart they are compared anew and nothing is recorded. */
export function stricterBounds(one: Bounds, other: Bounds): Bounds {
  const least = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.min(a, b));
  const { allowedTools } = other;
  return {
    maxSteps: least(one.maxSteps, other.maxSteps),
    maxCostUsd: least(one.maxCostUsd, other.maxCostUsd),
    allowedTools: one.allowedTools?.filter((tool) => allowedTools?.includes(tool) ?? true) ?? allowedTools,
  };
}

/** The records that change settings from one state into another. */
export function changesBetween(from: Settings, to: Settings): AgentEvent[] {
  const changes: SettingChange[] = [];
  if (from.model !== to.model) changes.push({ model: to.model });
  if (from.agent !== to.agent) changes.push({ agent: to.agent });
  const mode = modeOf(to);
  const differing = Object.entries(FLAG_OPTIONS).filter(([, flag]) => from[flag] !== to[flag]);
  if (modeOf(from) !== mode && Object.values(FLAG_OPTIONS).every((flag) => to[flag] === MODE_FLAGS[mode][flag]))
    changes.push({ mode });
  else changes.push(...differing.map(([option, flag]) => ({ option, value: to[flag] })));
  for (const [option, value] of Object.entries(to.options)) {
    if (from.options[option] === value) continue;
    changes.push(option === "approval" ? { approval: String(value) } : { option, value });
  }
  return changeEvents(changes, from);
}

/**
 * A mode by its name, with `_` or `-`. Throws `invalid_setting`.
 *
 * @example
 * await session.set({ mode: parseMode("read_only") }); // "read-only"
 */
export function parseMode(name: string): Mode {
  const mode = MODES.find((candidate) => candidate === name.replace("_", "-"));
  if (!mode) throw new SessionError("invalid_setting", `unknown mode "${name}"; choose one of ${MODES.join(", ")}`);
  return mode;
}

/** Checks the length of a model's name, which goes into the summary and so into every list. The agent finds the model's provider later. */
export function requireModelName(name: string): void {
  if (name.trim() !== "" && name.length <= limits.modelChars) return;
  throw new SessionError("invalid_setting", `a model's name has 1 to ${limits.modelChars} characters`);
}

/** Returns the current settings. `options` is always the same object, so that a running turn sees a change at its next call. */
export function createSettings(made: Settings, changed: () => ChangedSettings): () => Settings {
  const options: Record<string, string | boolean> = {};
  let seen: ChangedSettings | null = null;
  let now: Settings;
  return () => {
    const current = changed();
    if (current === seen) return now;
    seen = current;
    const settings = settingsOf(made, current);
    for (const id of Object.keys(options)) delete options[id];
    Object.assign(options, settings.options);
    now = { ...settings, options };
    return now;
  };
}

// --- internal ---

const OWN = [
  "agent",
  "maxSteps",
  "maxCostUsd",
  "allowedTools",
  "autoApproveWrites",
  "autoApproveExecute",
  "readOnly",
] as const satisfies readonly (keyof SummaryBounds & keyof Settings)[];

function changeEvent(change: SettingChange, now: Settings): AgentEvent {
  if ("model" in change) {
    requireModelName(change.model);
    return { type: "model_changed", metadata: { old: now.model, new: change.model } };
  }
  if ("mode" in change) return { type: "mode_changed", metadata: { old: modeOf(now), new: change.mode } };
  if ("agent" in change) return { type: "config_changed", metadata: { id: "agent", value: change.agent } };
  if ("approval" in change) {
    const { approval: old = null } = now.options;
    return { type: "approval_changed", metadata: { old: old === null ? null : String(old), new: change.approval } };
  }
  if ("title" in change) return { type: "title_changed", metadata: { title: titleOf(change.title) } };
  if ("shared" in change) return { type: "sharing_changed", metadata: { shared: change.shared } };
  const { option: id, value } = change;
  if (isFlagOption(id) && typeof value !== "boolean")
    throw new SessionError("invalid_setting", `${id} is either true or false`);
  return { type: "config_changed", metadata: { id, value } };
}

/** The title on one line. Throws `invalid_setting` if it is too long. */
function titleOf(text: string): string {
  const title = text.replace(/\s+/g, " ").trim();
  if (title.length <= limits.titleLength) return title;
  throw new SessionError("invalid_setting", `a title has at most ${limits.titleLength} characters`);
}

type Narrowing = Exclude<
  SettingChange,
  { model: string } | { agent: string } | { title: string } | { shared: boolean }
>;

function changed(change: Narrowing, now: Settings): Settings {
  if ("mode" in change) return { ...now, ...MODE_FLAGS[change.mode] };
  const [id, value] = "approval" in change ? ["approval", change.approval] : [change.option, change.value];
  if (isFlagOption(id)) return { ...now, [FLAG_OPTIONS[id]]: value };
  return { ...now, options: { ...now.options, [id]: value } };
}

/** Whether a value is at most as wide as the bound. A value that is not in the order counts as the widest. */
function isWithin(order: readonly string[], value: string | boolean | undefined, bound: string): boolean {
  const at = order.indexOf(String(value));
  return at >= 0 && at <= order.indexOf(bound);
}
