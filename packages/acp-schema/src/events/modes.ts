/** Modes name the three flags that say what an agent may do without asking. Also maps ACP's answers to decisions. Loads no schema. */
import type { Decision, PermissionChoice } from "./value.js";

/** The flags that say what an agent may do without asking. */
export interface Flags {
  /** Whether changes of files need no permission. */
  readonly autoApproveWrites: boolean;
  /** Whether commands need no permission. */
  readonly autoApproveExecute: boolean;
  /** Whether the agent can only read. */
  readonly readOnly: boolean;
}

export const MODES = ["auto", "review", "read-only"] as const;
export type Mode = (typeof MODES)[number];

/** The flags of each mode. Setting a mode sets all three. */
export const MODE_FLAGS: Readonly<Record<Mode, Flags>> = {
  auto: { autoApproveWrites: true, autoApproveExecute: true, readOnly: false },
  review: { autoApproveWrites: false, autoApproveExecute: false, readOnly: false },
  "read-only": { autoApproveWrites: false, autoApproveExecute: false, readOnly: true },
};

/** The boolean config options by their names for clients. */
export const FLAG_OPTIONS = {
  auto_approve_writes: "autoApproveWrites",
  auto_approve_execute: "autoApproveExecute",
  read_only: "readOnly",
} as const satisfies Record<string, keyof Flags>;
export type FlagOption = keyof typeof FLAG_OPTIONS;

/**
 * Whether a config option is one of the flags that a mode stands for.
 *
 * @example
 * isFlagOption("read_only"); // true
 * isFlagOption("model"); // false
 */
export function isFlagOption(id: string): id is FlagOption {
  return Object.hasOwn(FLAG_OPTIONS, id);
}

/** The prefix of an engine's own settings among the options of a session. */
export const ENGINE_OPTION = "engine:";

/**
 * The mode of a set of flags: read-only wins, auto needs both approvals, and everything else is review.
 *
 * @example
 * modeOf({ autoApproveWrites: true, autoApproveExecute: false, readOnly: false }); // "review"
 */
export function modeOf(flags: Flags): Mode {
  if (flags.readOnly) return "read-only";
  return flags.autoApproveWrites && flags.autoApproveExecute ? "auto" : "review";
}

/** The decision for each of ACP's kinds of answers. */
export const DECISION_OF: Readonly<Record<PermissionChoice["kind"], Decision>> = {
  allow_once: "allow",
  allow_always: "always",
  reject_once: "deny",
  reject_always: "never",
};
