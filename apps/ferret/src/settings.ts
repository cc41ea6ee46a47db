/** The settings that ferret has beyond the shared ones; a project may only make them stricter. */
import type { ConfigKey, Kind } from "@chimera/host";
import { DEFAULT_SANDBOX_MODE, SANDBOX_MODES } from "@chimera/sandbox";
import { PRESET_NAMES } from "./approval/preset.js";
import { stricter, wordIn } from "./words.js";

/** From the strictest on. */
const MODES: readonly string[] = Object.keys(SANDBOX_MODES);
const APPROVALS: readonly string[] = PRESET_NAMES;

export const settings: Readonly<Record<"sandbox" | "os_sandbox" | "approval", ConfigKey<string>>> = {
  sandbox: {
    kind: word(MODES),
    default: DEFAULT_SANDBOX_MODE,
    flag: "sandbox",
    value: "<mode>",
    env: "*_SANDBOX",
    project: { narrow: (ours, theirs) => stricter(MODES, ours, theirs) },
    help: `${MODES.join(", ")} (default ${DEFAULT_SANDBOX_MODE})`,
  },
  os_sandbox: {
    kind: word(["auto", "on", "off"]),
    default: "auto",
    flag: "os-sandbox",
    value: "<when>",
    env: "*_OS_SANDBOX",
    project: "nothing",
    help: "auto (default) and on: commands are confined or refused; off: judged by their text alone",
  },
  approval: {
    kind: word(APPROVALS),
    default: "read-only",
    flag: "approval",
    value: "<preset>",
    env: "*_APPROVAL",
    project: { narrow: (ours, theirs) => stricter(APPROVALS, ours, theirs) },
    help: `${APPROVALS.join(", ")} (default read-only)`,
  },
};

// --- internal ---

function word(words: readonly string[]): Kind<string> {
  const pick = (text: string) => wordIn(words, text);
  return {
    takes: `one of ${words.join(", ")}`,
    fromText: pick,
    fromJson: (value) => (typeof value === "string" ? pick(value) : undefined),
  };
}
