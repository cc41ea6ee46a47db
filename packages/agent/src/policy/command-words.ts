/**
 * The words of a command line, where reading them takes no shell: one command of plain and quoted words. `git push`,
 * `git  push` and `git 'push'` have the same words and do the same; anything a shell acts on (an expansion, a pattern, a
 * redirection, a second command, an assignment, a keyword) has no words here, so that no two lines which might differ are alike.
 */
export function commandWords(line: string): readonly string[] | null {
  const words: string[] = [];
  let rest = line.trim();
  if (rest === "" || rest.length > LONGEST || KEYWORDS.has(/^\w*/.exec(rest)?.[0] ?? "") || ASSIGNMENT.test(rest))
    return null;
  while (rest !== "") {
    const word = WORD.exec(rest)?.[0];
    if (word === undefined) return null;
    words.push(
      word.replace(PIECE, (_piece, single?: string, double?: string, bare?: string) => single ?? double ?? bare ?? ""),
    );
    const after = rest.slice(word.length);
    const blanks = BLANKS.exec(after)?.[0] ?? "";
    if (after !== "" && blanks === "") return null;
    rest = after.slice(blanks.length);
  }
  return words;
}

// --- internal ---

const LONGEST = 16_384;

/** Between single quotes everything is itself; between double quotes everything but `$`, a backtick, `\` and `!` is. */
const PIECE = /'([^'\0\r\n]*)'|"([^"$`\\!\0\r\n]*)"|([\w@%+:,./=-]+)/g;
const WORD = new RegExp(`^(?:${PIECE.source})+`);
const BLANKS = /^[ \t]+/;
const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;

/** A quoted keyword is a command of that name. */
const KEYWORDS = new Set(
  "if then else elif fi for while until do done case esac in function select time coproc".split(" "),
);
