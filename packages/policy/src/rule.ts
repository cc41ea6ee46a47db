/** A permission rule and whether it speaks about a call; for a command line, about the words that it is made of. */
import { relative } from "node:path";
import { compileGlob, type Meter } from "@chimera/acp-schema/glob";
import type { PolicyCall, Rule } from "@chimera/acp-schema/policy";
import { isInside } from "@chimera/sandbox/secrets";

/** Whether the rule is about this tool at all. */
export function isAbout(rule: Rule, { tool }: PolicyCall, meter?: Meter): boolean {
  if (rule.kinds && !rule.kinds.includes(tool.kind)) return false;
  const names = [tool.name, ...tool.aliases].map((name) => name.toLowerCase());
  return anyMatches(rule, rule.tool.toLowerCase(), names, meter);
}

/** Whether the rule names the command line as its argument. */
export function isCommandRule(rule: Rule, { touches }: PolicyCall): boolean {
  return touches.command !== undefined && rule.argKey !== undefined && COMMAND_KEYS.has(rule.argKey);
}

/** Whether the rule names particular files. */
export function isPathRule(rule: Rule): boolean {
  return rule.argPattern !== undefined && rule.argKey !== undefined && PATH_KEYS.has(rule.argKey);
}

/** Whether the rule's argument fits. Of a path's spellings, forbidding matches any, allowing only the real one. */
export function fitsArgument(rule: Rule, call: PolicyCall, cwd: string, meter?: Meter): boolean {
  if (rule.argKey === undefined) return true;
  const values = PATH_KEYS.has(rule.argKey) ? pathForms(rule, call, cwd) : plainForms(rule.argKey, call.args);
  const { argPattern } = rule;
  if (argPattern === undefined) return values.length > 0;
  // A call that touches several files is allowed when the rule allows each of them.
  const paths = rule.action === "allow" && PATH_KEYS.has(rule.argKey) ? touchedPaths(call) : [];
  if (paths.length < 2) return anyMatches(rule, argPattern, values, meter);
  return paths.every((path) => anyMatches(rule, argPattern, formsOf(path, cwd), meter));
}

/** Longer lines are not read into words: they are asked about. */
const MAX_COMMAND = 16_384;

/**
 * The words of a command line that is one plain command, whatever blanks stand between them and however they are quoted: two lines
 * with the same words do the same in any POSIX shell. Null for everything else. It is better not to know that two lines are alike
 * than to take one for another, so only a small part of the language is read: no expansion, pattern, escape, redirection,
 * assignment, comment, keyword, second command or character beyond ASCII.
 */
export function commandWords(command: string): string[] | null {
  if (command.length > MAX_COMMAND || !PLAIN_LINE.test(command)) return null;
  const words = command.match(EACH_WORD) as [string, ...string[]];
  // A quoted name is not an alias and not a keyword, and one with an equals sign may be an assignment.
  if (/['"=]/.test(words[0]) || KEYWORDS.has(words[0])) return null;
  return words.map((word) => word.replace(QUOTED, "$1$2"));
}

/**
 * Which commands are alike: the first words of a plain command, where the program is one whose subcommands people mean by name. Programs
 * that run what they are given (shells, interpreters, `sudo`, `xargs`) and those that write any file they are given have no prefix. Null
 * where allowing what begins alike would allow anything.
 */
export function prefixOf(command: string): readonly string[] | null {
  const words = commandWords(command);
  const program = words?.[0] ?? "";
  const least = ONE_WORD.has(program) ? 1 : TWO_WORDS.has(program) ? 2 : null;
  if (!words || least === null) return null;
  const named = words.slice(0, SCRIPTS.test(words.slice(0, 2).join(" ")) ? 3 : least);
  // An option may name another directory or another program to run.
  return named.length >= least &&
    named.slice(1).every((word) => /^[A-Za-z][\w:.-]*$/.test(word)) &&
    !RUNS_ANY.test(named.join(" "))
    ? named
    : null;
}

// --- internal ---

/** Whether a pattern of the rule matches one of the texts. What is too much to try counts against the call, whatever the rule. */
function anyMatches(rule: Rule, pattern: string, texts: readonly string[], meter?: Meter): boolean {
  const matches = compileGlob(pattern, "rule", meter);
  return texts.some((text) => matches(text, meter) ?? rule.action !== "allow");
}

const PATH_KEYS = new Set(["path", "file", "file_path", "filepath", "filename"]);
const COMMAND_KEYS = new Set(["command", "cmd"]);

function plainForms(key: string, args: PolicyCall["args"]): string[] {
  const value = Object.hasOwn(args, key) ? args[key] : undefined;
  if (value === undefined || value === null) return [];
  return [typeof value === "object" ? JSON.stringify(value) : String(value)];
}

function touchedPaths({ touches }: Pick<PolicyCall, "touches">): string[] {
  return [...new Set([...touches.reads, ...touches.writes])];
}

function formsOf(path: string, cwd: string): string[] {
  return isInside(path, cwd) ? [path, relative(cwd, path)] : [path];
}

function pathForms(rule: Rule, { args, touches }: PolicyCall, cwd: string): string[] {
  const forms = touchedPaths({ touches }).flatMap((path) => formsOf(path, cwd));
  if (rule.action === "allow") return forms;
  return [...forms, ...[...PATH_KEYS].flatMap((key) => plainForms(key, args))];
}

/** What is printable between single quotes, and between double ones without what a shell acts on there. */
const QUOTED = /'([ -&(-~]*)'|"([ #%-[\]-_a-~]*)"/g;
/** Quoted parts, and characters that stand for themselves in every place of a word, but for a leading `=`. */
const WORD = `(?!=)(?:[A-Za-z0-9_./:@%+,=-]|${QUOTED.source})+`;
const EACH_WORD = new RegExp(WORD, "g");
/** Words with blanks between them. A line break may only end the line. */
const PLAIN_LINE = new RegExp(`^[ \\t]*${WORD}(?:[ \\t]+${WORD})*[ \\t]*(?:\\n[ \\t\\n]*)?$`);
const KEYWORDS = new Set(
  "case coproc do done elif else esac fi for function if in select then time until while".split(" "),
);

/** Programs whose name says what they do, and those that need a second word for it. */
const ONE_WORD: ReadonlySet<string> = new Set("eslint jest mypy pytest tsc vitest".split(" "));
const TWO_WORDS: ReadonlySet<string> = new Set(
  "biome cargo dotnet git go gradle mvn npm npx pnpm ruff yarn".split(" "),
);
const SCRIPTS = /^(?:npm|pnpm|yarn) run$/;
/** Subcommands that run whatever follows, or change what later commands do. */
const RUNS_ANY =
  /^(?:(?:npm|pnpm|yarn) (?:exec|x|dlx|run|explore|config|set|create|init|node)|git (?:config|bisect|filter-branch|submodule|rebase|difftool|mergetool|hook|worktree|credential|send-email|daemon|clone|remote|push)|npx (?:node|sh|bash|zsh|tsx|ts-node|shx|cross-env|env|sudo|npx|npm)|go (?:run|generate|tool|env)|cargo (?:run|install|config)|dotnet (?:run|exec|tool)|biome lsp-proxy)$/;
