/**
 * What a client may change while a session lives. A mode is a name for the three flags; the flags are what the agent obeys.
 */
import { SessionError } from "./errors.js";
import { limits } from "./limits.js";

export const MODES = ["auto", "review", "read-only"] as const;
export type Mode = (typeof MODES)[number];

export interface Flags {
  readonly autoApproveWrites: boolean;
  readonly autoApproveExecute: boolean;
  readonly readOnly: boolean;
}

export interface Settings extends Flags {
  readonly model: string;
  readonly agent: string;
  /** null: no limit, but a question now and then. */
  readonly maxSteps: number | null;
  readonly maxCostUsd: number | null;
  readonly allowedTools: readonly string[] | null;
  /** Settings of a program's extensions, by option id. */
  readonly options: Readonly<Record<string, string | boolean>>;
}

/** Setting a mode writes all three flags at once. */
export const MODE_FLAGS: Readonly<Record<Mode, Flags>> = {
  auto: { autoApproveWrites: true, autoApproveExecute: true, readOnly: false },
  review: { autoApproveWrites: false, autoApproveExecute: false, readOnly: false },
  "read-only": { autoApproveWrites: false, autoApproveExecute: false, readOnly: true },
};

/** What a session starts with where nobody says otherwise; only the model has to be named. */
export const DEFAULT_SETTINGS: Omit<Settings, "model"> = {
  agent: "build",
  ...MODE_FLAGS.review,
  maxSteps: null,
  maxCostUsd: null,
  allowedTools: null,
  options: {},
};

/** What keeps a session small: kept with it, so that one that comes back to life is not wider than it was made. */
export type Bounds = Pick<Settings, "maxSteps" | "maxCostUsd" | "allowedTools">;

/** The bounds that differ from what every session has. */
export function ownBounds(settings: Settings, defaults: Settings): Partial<Bounds> {
  const { maxSteps, maxCostUsd, allowedTools } = settings;
  return {
    ...(maxSteps !== defaults.maxSteps && { maxSteps }),
    ...(maxCostUsd !== defaults.maxCostUsd && { maxCostUsd }),
    ...(allowedTools !== defaults.allowedTools && { allowedTools }),
  };
}

/** The boolean config options by the name clients know them under. */
export const FLAG_OPTIONS = {
  auto_approve_writes: "autoApproveWrites",
  auto_approve_execute: "autoApproveExecute",
  read_only: "readOnly",
} as const satisfies Record<string, keyof Flags>;
export type FlagOption = keyof typeof FLAG_OPTIONS;

/** The mode a set of flags amounts to: read-only wins, auto needs both approvals, everything else is review. */
export function modeOf(flags: Flags): Mode {
  if (flags.readOnly) return "read-only";
  return flags.autoApproveWrites && flags.autoApproveExecute ? "auto" : "review";
}

export function parseMode(name: string): Mode {
  const mode = MODES.find((candidate) => candidate === name.replace("_", "-"));
  if (!mode) throw new SessionError("invalid_setting", `unknown mode "${name}"; choose one of ${MODES.join(", ")}`);
  return mode;
}

/** A name goes into the summary, and so into every list. Who serves it is the agent's to find out. */
export function requireModelName(name: string): void {
  if (name.trim() !== "" && name.length <= limits.modelChars) return;
  throw new SessionError("invalid_setting", `a model's name has 1 to ${limits.modelChars} characters`);
}

export function isFlagOption(id: string): id is FlagOption {
  return Object.hasOwn(FLAG_OPTIONS, id);
}
