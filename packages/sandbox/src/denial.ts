import { SANDBOX_MODES, type SandboxMode } from "./mode.js";

interface Trace {
  readonly pattern: RegExp;
  readonly reason: string;
  /** What the mode must forbid for the text to mean the wall. */
  readonly when: (rules: (typeof SANDBOX_MODES)[SandboxMode], failed: boolean) => boolean;
}

/** How the wall shows in what programs write when they meet it. */
const TRACES: readonly Trace[] = [
  {
    pattern: /read-only file system|\bEROFS\b/i,
    reason: "it tried to write where the sandbox allows no writes",
    when: () => true,
  },
  {
    // A protected place that is empty is covered by a directory that merely cannot be written.
    pattern: /^(?=.*(permission denied|\bEACCES\b))(?=.*\.(git|opencode|codex|chimera)\b)/im,
    reason: "it tried to write where the sandbox allows no writes",
    when: ({ writes }) => writes,
  },
  {
    pattern:
      /network is unreachable|temporary failure in name resolution|could not resolve host|name or service not known|\bEAI_AGAIN\b|\bENETUNREACH\b/i,
    reason: "it tried to reach the network, which the sandbox does not allow",
    when: ({ network }) => !network,
  },
  {
    pattern: /operation not permitted|\bEPERM\b/i,
    reason: "it tried something that the sandbox does not permit",
    when: (_, failed) => failed,
  },
];

/** Most of a command's errors that is looked at. */
const MAX_LOOKED_AT = 64 * 1024;

/**
 * Whether a confined command's error output shows that the wall stopped it: the reason in words, or null. A reading of text,
 * for people; the wall holds whatever it says.
 */
export function findDenial(stderr: string, mode: SandboxMode, failed: boolean): string | null {
  const rules = SANDBOX_MODES[mode];
  if (!rules.confined) return null;
  const text = stderr.slice(0, MAX_LOOKED_AT);
  return TRACES.find(({ pattern, when }) => when(rules, failed) && pattern.test(text))?.reason ?? null;
}
