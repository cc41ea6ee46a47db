import { resolve } from "node:path";
import { SANDBOX_MODES, type SandboxMode } from "./mode.js";

/** How the wall stopped a command, according to its error output. */
export interface Denial {
  readonly reason: string;
  /** The path that it could not write, if its errors name it. */
  readonly path?: string;
}

export interface DenialOptions {
  readonly mode: SandboxMode;
  /** Whether the command failed. */
  readonly failed: boolean;
  /** Its directory, to which names in its errors are relative. */
  readonly cwd: string;
  /** Whether the mode refuses to write an absolute path. A path that it allows cannot be the refused one. */
  readonly refuses: (path: string) => boolean;
}

/**
 * Finds out from a confined command's error output whether the wall stopped it; null if not. This only informs people; the wall itself
 * does not depend on it.
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
  /** Whether the line may name the path that could not be written. */
  readonly isWrite?: boolean;
  /** Whether the text can come from the wall, given the mode. */
  readonly when: (rules: (typeof SANDBOX_MODES)[SandboxMode], failed: boolean) => boolean;
}

/** Messages of programs that the wall has stopped. */
const TRACES: readonly Trace[] = [
  {
    pattern: /read-only file system|\bEROFS\b/i,
    reason: "it tried to write where the sandbox allows no writes",
    isWrite: true,
    when: () => true,
  },
  {
    // bubblewrap covers an empty protected place with a directory that its mode makes unwritable.
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

/** Most characters of the errors to search, and most lines to search for a path. */
const MAX_LOOKED_AT = 64 * 1024;
const MAX_LINES = 20;

/** A program writes no longer line about a file, and no path is longer. */
const MAX_LINE = 8192;
const MAX_PATH = 4096;

const WHY = /(read-only file system|permission denied)/i;

/** Matches a quoted name. A quotation mark inside a word is an apostrophe. */
const QUOTED = /(?<![^\s(:=,])(?:'([^']+)'|‘([^‘’]+)’|"([^"]+)"|`([^`']+)['`])/g;

/** The paths in a line that the mode refuses to write, the most likely first. */
function refusedPaths(line: string, { cwd, refuses }: DenialOptions): string[] {
  if (line.length > MAX_LINE) return [];
  return [...quotedNames(line), ...plainNames(line)]
    .filter((name) => name !== "" && name.length <= MAX_PATH && !CONTROLS.test(name))
    .map((name) => resolve(cwd, name))
    .filter(refuses);
}

/** The last name comes first, because an error about moving a file names the target last. */
function quotedNames(line: string): string[] {
  return [...line.matchAll(QUOTED)].map((match) => match.slice(1).find((name) => name !== undefined) ?? "").reverse();
}

/** Unquoted names: a part before the reason, the last word of such a part, or a word after the reason. */
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

// biome-ignore lint/suspicious/noControlCharactersInRegex: the output of a command may contain control characters
const CONTROLS = /[\x00-\x1f\x7f]/;
