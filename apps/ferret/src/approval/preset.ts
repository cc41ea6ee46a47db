/** The presets by name. */
import { SessionError, type Settings } from "@chimera/session";

/** From the strictest on. */
export const PRESETS = {
  "read-only": "Reads run; everything else is refused",
  auto: "Reads, harmless commands and edits of the workspace run; the rest asks",
  full: "Everything runs without asking, within the sandbox",
} as const;
export type ApprovalPreset = keyof typeof PRESETS;

/** What a person is told when a preset is dangerous. */
export const WARNINGS: Readonly<Partial<Record<ApprovalPreset, string>>> = {
  full: "WARNING: approval full: tools run without asking anybody; only the sandbox and the rules that deny are left",
};

/** Reads a preset as a person may type it (`read_only`, any case); throws `invalid_setting`. */
export function parsePreset(text: string): ApprovalPreset {
  const name = text.trim().toLowerCase().replaceAll("_", "-");
  if (Object.hasOwn(PRESETS, name)) return name as ApprovalPreset;
  const known = Object.keys(PRESETS).join(", ");
  throw new SessionError("invalid_setting", `unknown approval preset ${JSON.stringify(text)}; choose one of ${known}`);
}

/** The preset among a session's options; the strictest where there is none. */
export function presetOf(options: Settings["options"] | undefined): ApprovalPreset {
  const { approval } = options ?? {};
  return typeof approval === "string" && Object.hasOwn(PRESETS, approval) ? (approval as ApprovalPreset) : "read-only";
}

/** The one that lets less run without asking. */
export function stricter(one: ApprovalPreset, other: ApprovalPreset): ApprovalPreset {
  const order = Object.keys(PRESETS);
  return order.indexOf(one) < order.indexOf(other) ? one : other;
}
