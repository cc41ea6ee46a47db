/**
 * Rules on command lines, without a shell parser. What forbids looks into every part of the line; what allows is believed
 * only for a plain prefix of a line that holds nothing a shell would act on. A classifier that parses takes over where
 * there is one.
 */
import type { Meter } from "./glob.js";
import { type Action, anyMatches, type Rule } from "./rule.js";

/** Longer lines are not matched against: they are asked about. */
const MAX_COMMAND = 16_384;

/** What the rule does to this command; null when it does not match. */
export function commandAction(rule: Rule, command: string, meter?: Meter): Action | null {
  const pattern = rule.argPattern ?? "*";
  const line = command.trim();
  if (rule.action !== "allow") return anyMatches(rule, pattern, parts(line), meter) ? rule.action : null;
  if (!anyMatches(rule, pattern, [line], meter)) return null;
  return isPlain(pattern) && isSimple(line) ? "allow" : "ask";
}

/**
 * Whether a command might be a disguise of what a rule forbids: a line that is more than plain words, or that names the
 * program the rule is about.
 */
export function mightDodge(command: string, rules: readonly Rule[]): boolean {
  if (rules.length === 0) return false;
  if (!isSimple(command.trim())) return true;
  const words = new Set(command.trim().split(/\s+/).map(programOf));
  return rules.some(({ argPattern = "*" }) => {
    const program = programOf(argPattern.trim().split(/\s+/, 1)[0] ?? "");
    return program === "" || /[*?[]/.test(program) || words.has(program);
  });
}

// --- internal ---

/** `npm test`, `git log *`: words, and at most one star, at the end. */
function isPlain(pattern: string): boolean {
  return !/[*?[\]]/.test(pattern.replace(/\*$/, ""));
}

/** One command of plain words: no operator, redirection, expansion, quote, escape, assignment, comment or control character. */
function isSimple(line: string): boolean {
  return line.length <= MAX_COMMAND && /^[\w@%+:,./ -][\w@%+:,./ =-]*$/.test(line) && !/^\S*=/.test(line);
}

function parts(line: string): string[] {
  if (line.length > MAX_COMMAND) return [line];
  const pieces = line.split(/[;&|\n\r`(){}<>]+|\$\(/).flatMap((piece) => {
    const bare = piece.trim().replace(/["'\\]/g, "");
    const words = bare.split(/\s+/);
    const first = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word) && !WRAPPERS.has(word));
    return first === -1 ? [bare] : [bare, words.slice(first).join(" ")];
  });
  return [line, ...pieces];
}

const WRAPPERS = new Set(["sudo", "doas", "env", "command", "exec", "nice", "nohup", "time", "builtin"]);

function programOf(word: string): string {
  return word.slice(word.lastIndexOf("/") + 1).replace(/\*$/, "");
}
