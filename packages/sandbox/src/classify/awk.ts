import { words } from "../words.js";
import { firstPath, type Standpoint } from "./paths.js";
import type { PlainWord } from "./plain-script.js";

/** Allows `awk` programs that compute and print; not those that write a file, run a command, or read the environment or other files. */
export function awkConcern(args: readonly PlainWord[], standpoint: Standpoint): string | undefined {
  const rest = [...args];
  while (/^-[Fv]/.test(rest[0]?.text ?? "")) {
    const option = rest.shift()!;
    const value = option.text.length > 2 ? { ...option, text: option.text.slice(2) } : rest.shift();
    if (!value || value.glob) return `awk: ${option.text} without a fixed value`;
    if (option.text.startsWith("-v") && !/^[a-z_]\w*=/.test(value.text)) return `awk: sets ${value.text}`;
  }
  const program = rest.shift();
  // An unquoted pattern could become a file name, which would then be the program.
  if (!program || program.glob || program.text.startsWith("-") || !onlyPrints(program.text))
    return "awk: the program is not known to only print";
  // `name=value` operands assign variables, so only file names are allowed.
  if (rest.some((word) => word.text.includes("="))) return "awk: assigns a variable";
  return firstPath(rest, standpoint, "awk");
}

// --- internal ---

const MAX_PROGRAM = 400;

/** Matches blanks and comments; a text; a number; a name; or an operator. A single `|`, `@` and a backslash do not match. */
const TOKEN =
  /[ \t]+|#[^\n]*|("(?:[^"\\\n]|\\[ntr"\\/])*")|(\d+(?:\.\d+)?)|([A-Za-z_]\w*)|(\n|&&|\|\||\+\+|--|[-+*/%^!<>=~]=|[-+*/%^!<>=~?:,;$(){}[\]])/y;
/** Brackets are not understood, because a slash in brackets does not end the pattern. */
const PATTERN = /\/(?:[^/\\[\n]|\\[^\n])+\//y;
/** A slash after one of these begins a pattern, and after a value it divides. Anywhere else awks may disagree. */
const BEFORE_PATTERN = new Set(["", "\n", ...words("( , ; { } ! ~ && ||")]);

const KEYWORDS = new Set(
  words("BEGIN END break continue delete do else exit for if in next print printf while return"),
);
const FUNCTIONS = new Set(
  words("atan2 cos exp gsub index int length log match rand sin split sprintf sqrt srand sub substr tolower toupper"),
);
const VARIABLES = new Set(words("FILENAME FNR FS NF NR OFS ORS RLENGTH RS RSTART SUBSEP"));
/** Names in lower case that are not variables. */
const HARMFUL = new Set(words("close fflush func function getline nextfile system"));

/** Whether the program only computes and prints. */
function onlyPrints(program: string): boolean {
  if (program.length > MAX_PROGRAM) return false;
  let [before, isValue, braces, parens] = ["", false, 0, 0];
  for (let at = 0; at < program.length; ) {
    const isPattern = program[at] === "/" && BEFORE_PATTERN.has(before);
    if (program[at] === "/" && !isPattern && !isValue) return false;
    const lexer = isPattern ? PATTERN : TOKEN;
    lexer.lastIndex = at;
    const [found, text, number, name, operator] = lexer.exec(program) ?? [];
    if (found === undefined) return false;
    at = lexer.lastIndex;
    if (name !== undefined && !isHarmless(name, /^[ \t]*\(/.test(program.slice(at)))) return false;
    // In parentheses, as in those of `for`, a `print` could have a `>` that does not compare.
    if ((name === "print" || name === "printf") && parens > 0) return false;
    if (operator === ">" && ((braces > 0 && parens === 0) || program[at] === ">")) return false;
    if (operator === "{" || operator === "}") braces += operator === "{" ? 1 : -1;
    if (operator === "(" || operator === ")") parens += operator === "(" ? 1 : -1;
    if (braces < 0 || parens < 0) return false;
    if (isPattern || text || number || name || operator) {
      before = operator ?? "value";
      isValue = number !== undefined || (name !== undefined && !KEYWORDS.has(name)) || operator === "]";
    }
  }
  return braces === 0 && parens === 0;
}

function isHarmless(name: string, isCall: boolean): boolean {
  if (KEYWORDS.has(name) || FUNCTIONS.has(name)) return true;
  return !isCall && !HARMFUL.has(name) && (VARIABLES.has(name) || /^[a-z_]/.test(name));
}
