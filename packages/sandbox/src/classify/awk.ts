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

const TEXT = /"(?:[^"\\\n]|\\[^\n])*"/g;
/** Reaches beyond the input: a name, an indirect call, a name that goes on in the next line, or a `>` or `|` that may belong to a `print`. */
const HARMFUL =
  /\b(?:ARG\w*|ENVIRON|FUNCTAB|PROCINFO|SYMTAB|close|extension|fflush|func|function|getline|nextfile|system)\b|@|\\\n|print.*[>|]/s;
const CALL = /[A-Za-z_]\w*(?=[ \t]*\()/g;
const CALLABLE = new Set(
  words(`
    for if print printf return while
    atan2 cos exp gsub index int length log match rand sin split sprintf sqrt srand sub substr tolower toupper
  `),
);

/**
 * Whether the program only computes and prints. Awks disagree on where a pattern in slashes begins and ends. In a program with a slash, a
 * comment or a second line, the texts are therefore judged as if they were code.
 */
function onlyPrints(program: string): boolean {
  const isClear = !/[/#\n]/.test(program);
  const code = (isClear ? program.replace(TEXT, " ") : program).replaceAll("||", " ");
  if (program.length > MAX_PROGRAM || HARMFUL.test(code) || (isClear && /["\\]/.test(code))) return false;
  return (code.match(CALL) ?? []).every((name) => CALLABLE.has(name));
}
