import { resolve } from "node:path";
import { SANDBOX_MODES, type SandboxMode } from "./mode.js";

/** How the wall stopped a command, as its errors show. */
export interface Denial {
  readonly reason: string;
  /** What it could not write, where its errors name it. */
  readonly path?: string;
}

export interface DenialOptions {
  readonly mode: SandboxMode;
  /** Whether the command failed. */
  readonly failed: boolean;
  /** Where it ran: names in its errors are relative to it. */
  readonly cwd: string;
  /** Whether the mode refuses to write an absolute path; a name that it would let through is not what was refused. */
  readonly refuses: (path: string) => boolean;
}

/**
 * Whether a confined command's error output shows that the wall stopped it; null when it does not. A reading of text, for
 * people; the wall holds whatever it says.
 *
 * @example
 * findDenial("touch: cannot touch '/etc/x': Read-only file system", { mode: "read-only", failed: true, cwd: "/w", refuses: () => true });
 * // { reason: "it tried to write where the sandbox allows no writes", path: "/etc/x" }
 */
export function findDenial(stderr: string, options: DenialOptions): Denial | null {
  const rules = SANDBOX_MODES[options.mode];
  if (!rules.confined) return null;
  const lines = stderr.slice(0, MAX_LOOKED_AT).split("\n");
  for (const { pattern, reason, isWrite = false, when } of TRACES) {
    const found = when(rules, options.failed) ? lines.filter((line) => pattern.test(line)) : [];
    if (found.length === 0) continue;
    const [path] = isWrite ? found.slice(0, MAX_LINES).flatMap((line) => refusedPaths(line, options)) : [];
    return path === undefined ? { reason } : { reason, path };
  }
  return null;
}

// --- internal ---

interface Trace {
  readonly pattern: RegExp;
  readonly reason: string;
  /** Whether the line may name what could not be written. */
  readonly isWrite?: boolean;
  /** What the mode must forbid for the text to mean the wall. */
  readonly when: (rules: (typeof SANDBOX_MODES)[SandboxMode], failed: boolean) => boolean;
}

/** How the wall shows in a line that a program writes when it meets it. */
const TRACES: readonly Trace[] = [
  {
    pattern: /read-only file system|\bEROFS\b/i,
    reason: "it tried to write where the sandbox allows no writes",
    isWrite: true,
    when: () => true,
  },
  {
    // bubblewrap covers a protected place that is empty with a directory that merely cannot be written.
    pattern: /^(?=.*(permission denied|\bEACCES\b))(?=.*\.(git|opencode|codex|chimera)\b)/i,
    reason: "it tried to write where the sandbox allows no writes",
    isWrite: true,
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

/** Most of a command's errors that is looked at, and most lines of those that a path is looked for in. */
const MAX_LOOKED_AT = 64 * 1024;
const MAX_LINES = 20;

/** No program writes a longer line about a file, and no file has a longer name. */
const MAX_LINE = 8192;
const MAX_PATH = 4096;

const WHY = /(read-only file system|permission denied)/i;

/** Most programs quote the name. A quotation mark in a word is an apostrophe. */
const QUOTED = /(?<![^\s(:=,])(?:'([^']+)'|‘([^‘’]+)’|"([^"]+)"|`([^`']+)['`])/g;

/** The paths a line may speak of that the mode refuses to write, the likeliest first. */
function refusedPaths(line: string, { cwd, refuses }: DenialOptions): string[] {
  if (line.length > MAX_LINE) return [];
  return [...quotedNames(line), ...plainNames(line)]
    .filter((name) => name !== "" && name.length <= MAX_PATH && !CONTROLS.test(name))
    .map((name) => resolve(cwd, name))
    .filter(refuses);
}

/** The last first: who moves something names what it was to become last. */
function quotedNames(line: string): string[] {
  return [...line.matchAll(QUOTED)].map((match) => match.slice(1).find((name) => name !== undefined) ?? "").reverse();
}

/** The name stands before the reason, in a part of its own or as the last word of one, or else after it. */
function plainNames(line: string): string[] {
  const [before = "", , after = ""] = line.split(WHY, 3);
  // sh: 1: cannot create /etc/x: Read-only file system
  // tar: x: Cannot open: Read-only file system
  // java.io.FileNotFoundException: /etc/x (Read-only file system)
  const [, ...parts] = before.trimEnd().replace(/[:(]$/, "").trimEnd().split(": ");
  const named = parts
    .map((part) => part.split(/\s/))
    .map((words) => (words.length === 1 ? words[0]! : pathAtEnd(words)));
  // zsh: read-only file system: /etc/x
  // Read-only file system @ rb_sysopen - /etc/x (Errno::EROFS)
  const following = after.split(/\s/).find((word) => word.includes("/")) ?? "";
  return [...named.slice(-2).reverse(), following];
}

function pathAtEnd(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return last.includes("/") ? last : "";
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what a command prints may hold any of them.
const CONTROLS = /[\x00-\x1f\x7f]/;
