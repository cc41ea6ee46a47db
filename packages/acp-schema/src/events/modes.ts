/** Modes: names for the three flags that say what an agent may do without asking; and what answers to it amount to. Loads no schema. */
import type { Decision, PermissionChoice } from "./value.js";

/** What an agent may do without asking. */
export interface Flags {
  readonly autoApproveWrites: boolean;
  readonly autoApproveExecute: boolean;
  readonly readOnly: boolean;
}

export const MODES = ["auto", "review", "read-only"] as const;
export type Mode = (typeof MODES)[number];

/** Setting a mode writes all three flags at once. */
export const MODE_FLAGS: Readonly<Record<Mode, Flags>> = {
  auto: { autoApproveWrites: true, autoApproveExecute: true, readOnly: false },
  review: { autoApproveWrites: false, autoApproveExecute: false, readOnly: false },
  "read-only": { autoApproveWrites: false, autoApproveExecute: false, readOnly: true },
};

/** The boolean config options by the name clients know them under. */
export const FLAG_OPTIONS = {
  auto_approve_writes: "autoApproveWrites",
  auto_approve_execute: "autoApproveExecute",
  read_only: "readOnly",
} as const satisfies Record<string, keyof Flags>;
export type FlagOption = keyof typeof FLAG_OPTIONS;

export function isFlagOption(id: string): id is FlagOption {
  return Object.hasOwn(FLAG_OPTIONS, id);
}

/** Before the id of a setting that an engine offers as its own, among the options of a session. */
export const ENGINE_OPTION = "engine:";

/** The mode a set of flags amounts to: read-only wins, auto needs both approvals, everything else is review. */
export function modeOf(flags: Flags): Mode {
  if (flags.readOnly) return "read-only";
  return flags.autoApproveWrites && flags.autoApproveExecute ? "auto" : "review";
}

/** What an answer of each kind that ACP knows amounts to. */
export const DECISION_OF: Readonly<Record<PermissionChoice["kind"], Decision>> = {
  allow_once: "allow",
  allow_always: "always",
  reject_once: "deny",
  reject_always: "never",
};
