/** Matches permission rules with calls, and reads the words of plain command lines. */
import { relative } from "node:path";
import { compileGlob, type Meter } from "@chimera/acp-schema/glob";
import type { PolicyCall, Rule } from "@chimera/acp-schema/policy";
import { isInside } from "@chimera/sandbox/secrets";

/** Whether the rule applies to this tool. */
export function isAbout(rule: Rule, { tool }: PolicyCall, meter?: Meter): boolean {
  if (rule.kinds && !rule.kinds.includes(tool.kind)) return false;
  const names = [tool.name, ...tool.aliases].map((name) => name.toLowerCase());
  return anyMatches(rule, rule.tool.toLowerCase(), names, meter);
}

/** Whether the rule's argument is the command line. */
export function isCommandRule(rule: Rule, { touches }: PolicyCall): boolean {
  return touches.command !== undefined && rule.argKey !== undefined && COMMAND_KEYS.has(rule.argKey);
}

/** Whether the rule names particular files. */
export function isPathRule(rule: Rule): boolean {
  return rule.argPattern !== undefined && rule.argKey !== undefined && PATH_KEYS.has(rule.argKey);
}

/** Whether the rule's argument matches. A rule that denies or asks matches any spelling of a path; one that allows only the real path. */
export function fitsArgument(rule: Rule, call: PolicyCall, cwd: string, meter?: Meter): boolean {
  if (rule.argKey === undefined) return true;
  const values = PATH_KEYS.has(rule.argKey) ? pathForms(rule, call, cwd) : plainForms(rule.argKey, call.args);
  const { argPattern } = rule;
  if (argPattern === undefined) return values.length > 0;
  // A call that touches several files is allowed only if the rule allows each of them.
  const paths = rule.action === "allow" && PATH_KEYS.has(rule.argKey) ? touchedPaths(call) : [];
  if (paths.length < 2) return anyMatches(rule, argPattern, values, meter);
  return paths.every((path) => anyMatches(rule, argPattern, formsOf(path, cwd), meter));
}

/** Most characters of a command line that is split into words. */
const MAX_COMMAND = 16_384;

/**
 * The words of a command line that is one plain command, independent of blanks and quotes between them: two lines with the same words
 * do the same in any POSIX shell. Null for any other line. Mistaking one command for another would be worse than not recognising the
 * same command, so this reads only a small part of the language: no expansion, pattern, escape, redirection, assignment, comment,
 * keyword, second command or character beyond ASCII.
 */
export function commandWords(command: string): string[] | null {
  if (command.length > MAX_COMMAND || !PLAIN_LINE.test(command)) return null;
  const words = command.match(EACH_WORD) as [string, ...string[]];
  // Quotes change whether a name is an alias or a keyword, and a name with an equals sign may be an assignment.
  if (/['"=]/.test(words[0]) || KEYWORDS.has(words[0])) return null;
  return words.map((word) => word.replace(QUOTED, "$1$2"));
}

/**
 * The prefix that similar commands share: the first words of a plain command of a program with well-known subcommands. Null if allowing
 * the prefix would allow anything: for programs that run other programs (shells, interpreters, `sudo`, `xargs`) or write any given file.
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
    !RUNS_ANY.has(named.join(" ")) &&
    (ONLY.get(program)?.has(named[1]!) ?? true)
    ? named
    : null;
}

// --- internal ---

/** Whether the pattern matches one of the texts. If trying it costs too much, the result goes against the call. */
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

/** Printable characters in single quotes; or in double quotes, without those that a shell expands there. */
const QUOTED = /'([ -&(-~]*)'|"([ #%-[\]-_a-~]*)"/g;
/** Quoted parts, and characters without a special meaning anywhere in a word. A word must not begin with `=`. */
const WORD = `(?!=)(?:[A-Za-z0-9_./:@%+,=-]|${QUOTED.source})+`;
const EACH_WORD = new RegExp(WORD, "g");
/** Words with blanks between them. A line break may only end the line. */
const PLAIN_LINE = new RegExp(`^[ \\t]*${WORD}(?:[ \\t]+${WORD})*[ \\t]*(?:\\n[ \\t\\n]*)?$`);
const KEYWORDS = new Set(
  "case coproc do done elif else esac fi for function if in select then time until while".split(" "),
);

/** Programs whose name alone is a prefix, and programs that need a subcommand. */
const ONE_WORD: ReadonlySet<string> = new Set("eslint jest mypy pytest tsc vitest".split(" "));
const TWO_WORDS: ReadonlySet<string> = new Set(
  "biome cargo dotnet git go gradle mvn npm npx pnpm ruff yarn".split(" "),
);
const SCRIPTS = /^(?:npm|pnpm|yarn) run$/;
const PACKAGES = "exec x dlx run explore config set create init node";
/**
 * All subcommands of git that have a prefix. Of the others, too many run any program or write any file with an option: `fetch
 * --upload-pack`, `grep -O`, `log --output`, `merge --strategy`.
 */
const ONLY: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["git", new Set("add branch checkout clean commit mv reset restore rm switch tag".split(" "))],
]);
/** Subcommands that run any program, or change what later commands do. */
const RUNS_ANY: ReadonlySet<string> = new Set(
  Object.entries({
    npm: PACKAGES,
    pnpm: PACKAGES,
    yarn: PACKAGES,
    npx: "node sh bash zsh tsx ts-node shx cross-env env sudo npx npm",
    go: "run generate tool env",
    cargo: "run install config",
    dotnet: "run exec tool",
    biome: "lsp-proxy",
  }).flatMap(([program, subcommands]) => subcommands.split(" ").map((name) => `${program} ${name}`)),
);
