import { homedir } from "node:os";
import { resolve } from "node:path";
import { realPath } from "../confine/paths.js";
import type { Workspace } from "../sandbox.js";
import { firstOf } from "../words.js";
import { type CommandRisk, catastrophe, riskOf, worse } from "./danger.js";
import { pathConcern, type Standpoint } from "./paths.js";
import { type PlainCommand, readPlainScript } from "./plain-script.js";
import { readConcern } from "./readers.js";
import { type CommandRules, couldMatch, matchRule } from "./rules.js";
import { readScript } from "./script.js";
import { unfold } from "./unfold.js";

export type CommandDecision = "allow" | "ask" | "deny";

export interface Verdict {
  readonly decision: CommandDecision;
  readonly risk: CommandRisk;
  /** For the person who is asked: why the command does more than read. */
  readonly reason: string;
}

export interface ClassifyOptions {
  /** The directory in which the command would run. @defaultValue the workspace's directory */
  readonly cwd?: string;
  readonly workspace: Workspace;
  readonly rules?: CommandRules;
}

/** Longer commands always ask. */
export const MAX_COMMAND_BYTES = 16 * 1024;
const MAX_COMMANDS = 50;
/** Most names to look up for the patterns of a command. */
const MAX_LOOKS = 4000;
/** Most names to look up below the directories that a command searches. */
const MAX_BELOW = 20_000;
/** Limits of a command's complexity, which bound the time for parsing it. */
const BOUNDS: readonly { readonly what: RegExp; readonly most: number; readonly name: string }[] = [
  { what: /[({`]|<</g, most: 60, name: "nested parts" },
  { what: /[;|&\n]/g, most: 200, name: "parts" },
  { what: /[ \t]+/g, most: 400, name: "words" },
  { what: /\$/g, most: 100, name: "variables" },
];

/**
 * Judges a shell command without running it: `allow` if it only reads the workspace or a rule allows it, `deny` for catastrophes or if a
 * rule denies it, `ask` for everything else, including unclear text. This saves the person questions. It is not the wall, which is the
 * operating system's task.
 *
 * @example
 * classify("git log --oneline", { workspace: { cwd: process.cwd() } }).decision; // "allow"
 */
export function classify(command: string, options: ClassifyOptions): Verdict {
  if (Buffer.byteLength(command) > MAX_COMMAND_BYTES) return ask("high", "the command is too long to judge");
  const hidden = hiddenCharacter(command);
  if (hidden) return ask("high", `the command contains ${hidden}`);
  const excess = BOUNDS.find(({ what, most }) => (command.match(what)?.length ?? 0) > most);
  if (excess) return ask("high", `the command has too many ${excess.name} to judge`);
  if (command.trim() === "") return ask("medium", "the command is empty");
  const script = readScript(command);
  if (!script) return ask("high", "the command does not parse");

  const { invocations, unclear, multiplies } = unfold(script);
  if (multiplies) return { decision: "deny", risk: "critical", reason: "starts itself without end" };
  const directories = [resolve(options.workspace.cwd, options.cwd ?? ".")];
  for (const { argv } of invocations) {
    if (argv[0] !== "cd" && argv[0] !== "pushd") continue;
    const place = argv.slice(1).find((word) => !/^-./.test(word ?? "")) ?? "~";
    const target = place.replace(/^(~[^/]*|\$HOME|\$\{HOME\})(?=\/|$)/, homedir());
    directories.push(resolve(directories[0]!, target));
  }
  let risk: CommandRisk = unclear ? "high" : "medium";
  for (const invocation of invocations) {
    const reason = catastrophe(invocation, directories);
    if (reason) return { decision: "deny", risk: "critical", reason };
    risk = worse(risk, riskOf(invocation));
  }
  const rules = options.rules ?? {};
  for (const { argv } of invocations) {
    const rule = rules.deny?.find((pattern) => couldMatch(pattern, argv));
    if (rule) return { decision: "deny", risk: worse(risk, "medium"), reason: `denied by the rule ${rule}` };
  }
  if (feedsShell(script.plain)) risk = "critical";
  const rest = withoutHereDocument(command);
  const second = rest === command ? script : readScript(rest);
  if (!second || second.obstacle) return ask(risk, second?.obstacle ?? "the command does not parse");

  const plain = readPlainScript(rest);
  if (!plain || !sameWords(plain, second.plain)) return ask(risk, "the command is not plain enough to judge");
  if (plain.length > MAX_COMMANDS) return ask(risk, "the command has too many parts to judge");
  const concern = firstConcern(plain, options) ?? loudGitConcern(plain, options);
  return concern
    ? ask(risk, concern)
    : { decision: "allow", risk: "low", reason: "only reads the workspace, or is allowed by a rule" };
}

// --- internal ---

function ask(risk: CommandRisk, reason: string): Verdict {
  return { decision: "ask", risk, reason };
}

/**
 * Removes a here-document that a leading `cat` only prints. It must have the plainest form, which no shell can read in another way. If the
 * shell expands the text, the text must contain nothing to expand.
 */
function withoutHereDocument(command: string): string {
  const [, quote, , after = "", body = "", rest = ""] = HERE_DOCUMENT.exec(command) ?? [];
  return quote === undefined || (quote === "" && /[$`\\]/.test(body)) ? command : `cat${after}\n${rest}`;
}

const HERE_DOCUMENT =
  /^cat <<(['"]?)([A-Za-z_][A-Za-z0-9_]*)\1([ \t]*(?:\|[ \tA-Za-z0-9_./=|-]*)?)\n((?:[\s\S]*?\n)??)\2(?:\n([\s\S]*))?$/;

/** Finds characters that make the text look different from the text that the shell gets. */
function hiddenCharacter(command: string): string | undefined {
  for (const character of command) {
    const code = character.codePointAt(0)!;
    if (code === 10 || code === 9 || (code >= 32 && code < 127)) continue;
    if (code < 160 || !/[\p{L}\p{N}\p{M}\p{P}\p{S}]/u.test(character) || INVISIBLE.test(character)) {
      return `the hidden character U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    }
  }
  return undefined;
}

/** Letters and symbols without a shape. The two selectors that follow an emoji are harmless. */
const INVISIBLE = /(?![\uFE0E\uFE0F])[\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Whether two independent parsers found the same words. */
function sameWords(plain: readonly PlainCommand[], parsed: readonly (readonly string[])[] | undefined): boolean {
  return (
    parsed?.length === plain.length &&
    plain.every(({ words }, index) => {
      const other = parsed[index]!;
      return other.length === words.length && words.every((word, at) => word.text === other[at]);
    })
  );
}

/** Whether downloaded or decoded text goes straight into an interpreter. */
function feedsShell(plain: readonly (readonly string[])[] | undefined): boolean {
  const names = plain?.map((argv) => argv[0] ?? "") ?? [];
  return names
    .slice(1)
    .some(
      (name, index) =>
        /^(ba|z|da|k)?sh$|^(python3?|node|perl|ruby)$/.test(name) && /^(curl|wget|base64|nc|xxd)$/.test(names[index]!),
    );
}

function firstConcern(plain: readonly PlainCommand[], options: ClassifyOptions): string | undefined {
  const roots = [options.workspace.cwd, ...(options.workspace.directories ?? [])].map((path) => resolve(path));
  // A `cd` may fail, so later commands must be harmless in every directory in which they could run.
  let standpoints: Standpoint[] = [
    {
      cwd: resolve(options.workspace.cwd, options.cwd ?? "."),
      roots,
      looks: { left: MAX_LOOKS },
      below: { left: MAX_BELOW },
    },
  ];
  for (const command of plain) {
    const argv = command.words.map((word) => word.text);
    const concern = firstOf(
      standpoints,
      (standpoint) =>
        redirectConcern(command, standpoint) ?? commandConcern(command, argv, standpoint, options.rules ?? {}),
    );
    if (concern) return concern;
    if (argv[0] === "cd")
      standpoints = standpoints.flatMap((standpoint) => [standpoint, ...arrivals(standpoint, argv[1] ?? ".")]);
    if (standpoints.length > 8) return "the command changes directory too often to judge";
  }
  return undefined;
}

/**
 * Git may read without a question only if all commands of the line only read, because only then are the repository's settings switched
 * off. Next to a command that a rule allows, and which may need the settings, they stay on.
 */
function loudGitConcern(plain: readonly PlainCommand[], options: ClassifyOptions): string | undefined {
  const { allow = [], ...rules } = options.rules ?? {};
  const reads = plain.filter(({ words }) => {
    const argv = words.map(({ text }) => text);
    return argv.some((word) => /(?:^|\/)git$/.test(word)) && !allow.some((pattern) => matchRule(pattern, argv));
  });
  if (allow.length === 0 || reads.length === 0 || !firstConcern(plain, { ...options, rules })) return undefined;
  return "git obeys the repository's settings beside a command that a rule allows";
}

/** The directories after a `cd`: as the shell names it, and with links followed, as the kernel resolves paths. */
function arrivals(standpoint: Standpoint, target: string): Standpoint[] {
  const named = resolve(standpoint.cwd, target);
  return [...new Set([named, realPath(named) ?? named])].map((cwd) => ({ ...standpoint, cwd }));
}

function commandConcern(
  command: PlainCommand,
  argv: readonly string[],
  standpoint: Standpoint,
  rules: CommandRules,
): string | undefined {
  const asked = rules.ask?.find((pattern) => couldMatch(pattern, argv));
  if (asked) return `the rule ${asked} asks`;
  const globbed = command.words.some((word) => word.glob);
  if (!globbed && rules.allow?.some((pattern) => matchRule(pattern, argv))) return undefined;
  if (argv[0] === "cd") return changeDirectoryConcern(command, standpoint);
  return readConcern(command.words, standpoint);
}

function changeDirectoryConcern(command: PlainCommand, standpoint: Standpoint): string | undefined {
  const [, target, ...more] = command.words;
  if (!target || more.length > 0 || target.glob || target.text.startsWith("-"))
    return "cd goes to an unknown directory";
  return pathConcern(target, standpoint);
}

function redirectConcern(command: PlainCommand, standpoint: Standpoint): string | undefined {
  return firstOf(command.redirects, ({ operator, target }) => {
    if (operator === "<") return target.glob ? "a redirection from a pattern" : pathConcern(target, standpoint);
    const isCopy = operator === ">&" || operator === "<&";
    const isHarmless = isCopy ? /^[0-9]$/.test(target.text) : target.text === "/dev/null" && operator !== "<>";
    return isHarmless ? undefined : `writes ${target.text}`;
  });
}
