/** The presets by name. */
import { SessionError, type Settings } from "@chimera/session";
import { wordIn } from "../words.js";

/** From the strictest on. */
export const PRESETS = {
  "read-only": "Reads run; everything else is refused",
  auto: "Reads, harmless commands and edits of the workspace run; the rest asks",
  full: "Everything runs without asking, within the sandbox",
} as const;
export type ApprovalPreset = keyof typeof PRESETS;

export const PRESET_NAMES = Object.keys(PRESETS) as ApprovalPreset[];

/** What a person is told when a preset is dangerous. */
export const WARNINGS: Readonly<Partial<Record<ApprovalPreset, string>>> = {
  full: "WARNING: approval full: tools run without asking anybody; only the sandbox and the rules that deny are left",
};

/** Reads a preset as a person may type it; throws `invalid_setting`. */
export function parsePreset(text: string): ApprovalPreset {
  const preset = wordIn(PRESET_NAMES, text);
  if (preset) return preset;
  const known = PRESET_NAMES.join(", ");
  throw new SessionError("invalid_setting", `unknown approval preset ${JSON.stringify(text)}; choose one of ${known}`);
}

/** The preset among a session's options; the strictest where there is none. */
export function presetOf(options: Settings["options"] | undefined): ApprovalPreset {
  const { approval } = options ?? {};
  return PRESET_NAMES.find((name) => name === approval) ?? "read-only";
}
