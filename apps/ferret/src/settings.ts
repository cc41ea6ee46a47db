/** The settings that ferret has beyond the shared ones; a project may only make them stricter. */
import type { ConfigKey, Kind } from "@chimera/host";
import { DEFAULT_SANDBOX_MODE, SANDBOX_MODES } from "@chimera/sandbox";
import { PRESETS } from "./approval/preset.js";

/** From the strictest on. */
const MODES = Object.keys(SANDBOX_MODES);
const APPROVALS = Object.keys(PRESETS);

export const settings: Readonly<Record<"sandbox" | "os_sandbox" | "approval", ConfigKey<string>>> = {
  sandbox: {
    kind: word(MODES),
    default: DEFAULT_SANDBOX_MODE,
    flag: "sandbox",
    value: "<mode>",
    env: "*_SANDBOX",
    project: { narrow: stricter(MODES) },
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
    project: { narrow: stricter(APPROVALS) },
    help: `${APPROVALS.join(", ")} (default read-only)`,
  },
};

// --- internal ---

/** `read_only` and `Read-Only` are read-only. */
function word(words: readonly string[]): Kind<string> {
  const pick = (given: string) => words.find((known) => known === given.trim().toLowerCase().replaceAll("_", "-"));
  return {
    takes: `one of ${words.join(", ")}`,
    fromText: pick,
    fromJson: (value) => (typeof value === "string" ? pick(value) : undefined),
  };
}

function stricter(words: readonly string[]): (ours: string, theirs: string) => string {
  return (ours, theirs) => (words.indexOf(theirs) < words.indexOf(ours) ? theirs : ours);
}
