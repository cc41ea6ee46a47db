/** What a model's name says about how to ask it: how much it may write, and how to make it think. A name nobody knows is a new one. */

/** `messages` */
export interface ClaudeFacts {
  /** Tokens of a reply. Asking an older model for more than it can is an error. */
  readonly maxOutput: number;
  /** By an effort, by a number of tokens, or not at all. */
  readonly thinking: "adaptive" | "budget" | "none";
}

/** https://platform.claude.com/docs/en/about-claude/models/overview; what is not Claude's is taken for a model of its kind. */
export function claudeFacts(model: string): ClaudeFacts {
  const name = model.toLowerCase();
  if (!name.includes("claude")) return { maxOutput: 32_000, thinking: "budget" };
  const version = versionIn(name, /claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2})(?!\d))?/);
  return CLAUDE.find((row) => version < row.below && (!row.family || name.includes(row.family))) as ClaudeFacts;
}

/** `gemini` */
export interface GeminiFacts {
  /** By a level, by a number of tokens, or not at all. */
  readonly thinking: "level" | "budget" | "none";
  /** Whether calls carry a signature that must come back. */
  readonly signed: boolean;
}

/** https://ai.google.dev/gemini-api/docs/thinking */
export function geminiFacts(model: string): GeminiFacts {
  const version = versionIn(model.toLowerCase(), /gemini-(\d+)(?:\.(\d+))?/);
  return GEMINI.find((row) => version < row.below) as GeminiFacts;
}

// --- internal ---

const CLAUDE: readonly (ClaudeFacts & { readonly below: number; readonly family?: string })[] = [
  { below: 3.05, maxOutput: 4_096, thinking: "none" },
  { below: 3.07, maxOutput: 8_192, thinking: "none" },
  { below: 4.05, family: "opus", maxOutput: 32_000, thinking: "budget" },
  { below: 4.06, maxOutput: 64_000, thinking: "budget" },
  { below: Number.POSITIVE_INFINITY, maxOutput: 128_000, thinking: "adaptive" },
];

const GEMINI: readonly (GeminiFacts & { readonly below: number })[] = [
  { below: 2.05, thinking: "none", signed: false },
  { below: 3, thinking: "budget", signed: false },
  { below: Number.POSITIVE_INFINITY, thinking: "level", signed: true },
];

/** 4.5 is 4.05, so that 4.10 comes after it. Just below infinity without a number. */
function versionIn(name: string, pattern: RegExp): number {
  const [, major, minor = "0"] = pattern.exec(name) ?? [];
  return major === undefined ? Number.MAX_VALUE : Number(major) + Number(minor) / 100;
}
