/**
 * The words of a command line that is one plain command, whatever blanks stand between them and however they are quoted: two
 * lines with the same words do the same in any POSIX shell. Null for everything else. It is better not to know that two lines
 * are alike than to take one for another, so only a small part of the language is read: no expansion, pattern, escape,
 * redirection, assignment, comment, keyword, second command or character beyond ASCII.
 */
export function commandWords(command: string): string[] | null {
  if (command.length > MAX_COMMAND) return null;
  const words: string[] = [];
  for (let at = skipBlanks(command, 0); at < command.length; at = skipBlanks(command, at)) {
    // A line break may only end the line.
    if (command[at] === "\n") return words.length > 0 && isBlank(command, at) ? words : null;
    const word = readWord(command, at);
    if (word === null || (words.length === 0 && !isProgram(word))) return null;
    words.push(word.text);
    at = word.end;
  }
  return words.length > 0 ? words : null;
}

// --- internal ---

interface Word {
  readonly text: string;
  readonly end: number;
  /** Nothing in it is quoted. */
  readonly bare: boolean;
}

const MAX_COMMAND = 16_384;
/** Characters that stand for themselves in every place of a word, but for a leading `=`. */
const BARE = /[A-Za-z0-9_./:@%+,=-]/;
const PRINTABLE = /^[ -~]*$/;
/** The same between double quotes, without what a shell acts on there. */
const PRINTABLE_IN_DOUBLE = /^[ #%-[\]-_a-~]*$/;
const KEYWORDS = new Set(
  "case coproc do done elif else esac fi for function if in select then time until while".split(" "),
);

function skipBlanks(text: string, start: number): number {
  let at = start;
  while (text[at] === " " || text[at] === "\t") at += 1;
  return at;
}

function isBlank(text: string, start: number): boolean {
  for (let at = start; at < text.length; at += 1) if (!" \t\n".includes(text[at] as string)) return false;
  return true;
}

/** A quoted name is not an alias and not a keyword, and one with an equals sign may be an assignment. */
function isProgram({ text, bare }: Word): boolean {
  return bare && !KEYWORDS.has(text) && !text.includes("=");
}

function readWord(line: string, start: number): Word | null {
  let text = "";
  let bare = true;
  let at = start;
  while (at < line.length && !" \t\n".includes(line[at] as string)) {
    const part = readPart(line, at);
    if (part === null || (at === start && line[at] === "=")) return null;
    text += part.text;
    bare &&= part.bare;
    at = part.end;
  }
  return { text, end: at, bare };
}

function readPart(line: string, at: number): Word | null {
  const first = line[at] as string;
  if (BARE.test(first)) return { text: first, end: at + 1, bare: true };
  const allowed = first === "'" ? PRINTABLE : first === '"' ? PRINTABLE_IN_DOUBLE : null;
  const close = allowed === null ? -1 : line.indexOf(first, at + 1);
  const text = line.slice(at + 1, close);
  return close > 0 && allowed?.test(text) ? { text, end: close + 1, bare: false } : null;
}
