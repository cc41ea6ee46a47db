/** Ferret's own settings and flags, and the effective value of a setting in a session's directory. */
import { type ConfigKey, type ExtensionContext, type Flags, type Kind, settingOf } from "@chimera/host";
import { DEFAULT_SANDBOX_MODE, SANDBOX_MODES, type SandboxMode } from "@chimera/sandbox";

/** The approval presets, strictest first. */
export const PRESETS = {
  "read-only": "Reads run; everything else is refused",
  auto: "Reads, harmless commands and edits of the workspace run; the rest asks",
  full: "Everything runs without asking, within the sandbox",
} as const;
export type ApprovalPreset = keyof typeof PRESETS;

export const PRESET_NAMES = Object.keys(PRESETS) as ApprovalPreset[];

/** Strictest first. */
const MODES: readonly string[] = Object.keys(SANDBOX_MODES);
const APPROVALS: readonly string[] = PRESET_NAMES;

/** A project can only make them stricter. */
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

/** The settings that a shorthand flag stands for. */
interface Pair {
  readonly sandbox: string;
  readonly approval: string;
}

const FULL_AUTO: Pair = { sandbox: "workspace-write", approval: "auto" };
const YOLO: Pair = { sandbox: "off", approval: "full" };

/** The variable for the bridge's token, which comes only from the environment or the command line, never from a file. */
export const TOKEN_VARIABLE = "FERRET_BRIDGE_TOKEN";

export const flags: Flags = {
  "full-auto": { type: "boolean", help: "The same as --sandbox workspace-write --approval auto" },
  yolo: { type: "boolean", help: "DANGEROUS: the same as --sandbox off --approval full" },
  bridge: { type: "boolean", help: "Offer the sessions to a remote console; needs --remote-url" },
  "remote-url": { type: "string", value: "<url>", help: "The remote console of the bridge" },
  "bridge-token": {
    type: "string",
    value: "<token>",
    help: `Its token (better: ${TOKEN_VARIABLE} in the environment)`,
  },
  insecure: { type: "boolean", help: "Allow sending the bridge's token without TLS" },
  "add-dir": {
    type: "string",
    multiple: true,
    value: "<dir>",
    help: "A further directory of the workspace (repeatable)",
  },
};

type Choice = Pick<ExtensionContext, "flags" | "values">;

/** The chosen value: `--yolo` wins over everything; `--full-auto` wins over everything except a flag for the setting itself. */
export function chosen({ flags, values }: Choice, name: keyof Pair): string {
  return shorthand(flags, name) ?? String(values[name]);
}

/** The bounds in a session's directory: the user's choice, restricted by the project there. */
export type ProjectBounds = ReturnType<typeof projectBounds>;

/** Reads the project's file at each call, because it may change. For an invalid file, applies the strictest value. */
export function projectBounds({ flags, under }: Pick<ExtensionContext, "flags" | "under">) {
  return {
    sandbox: (cwd: string) =>
      leastOnError(() => chosen({ flags, values: under(cwd).values }, "sandbox") as SandboxMode),
    /** The least strict preset that the project allows; null without a limit, or if the user overrode it by a flag or variable. */
    approval: (cwd: string) =>
      leastOnError(() => {
        if (shorthand(flags, "approval") !== undefined) return null;
        const { limit = null } = settingOf(under(cwd), "approval") ?? {};
        return limit as ApprovalPreset | null;
      }),
  };
}

/** Finds the word that a person typed, in any case and with `_` or `-`; or undefined. */
export function wordIn<Word extends string>(words: readonly Word[], text: string): Word | undefined {
  const typed = text.trim().toLowerCase().replaceAll("_", "-");
  return words.find((word) => word === typed);
}

/** The stricter of two words, in a list with the strictest first. */
export function stricter<Word extends string>(words: readonly Word[], one: Word, other: Word): Word {
  return words.indexOf(one) < words.indexOf(other) ? one : other;
}

// --- internal ---

function word(words: readonly string[]): Kind<string> {
  const pick = (text: string) => wordIn(words, text);
  return {
    takes: `one of ${words.join(", ")}`,
    fromText: pick,
    fromJson: (value) => (typeof value === "string" ? pick(value) : undefined),
  };
}

/** The value of a setting from a shorthand flag, if there is one and it applies. */
function shorthand(flags: Choice["flags"], name: keyof Pair): string | undefined {
  if (flags["yolo"]) return YOLO[name];
  return flags["full-auto"] && flags[name] === undefined ? FULL_AUTO[name] : undefined;
}

/** Returns "read-only" on an error: the name of both the strictest mode and the strictest preset. */
function leastOnError<T>(read: () => T): T | "read-only" {
  try {
    return read();
  } catch {
    return "read-only";
  }
}
