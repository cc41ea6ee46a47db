/** A word whose value follows from the text alone; `glob` if the shell may still expand it: to file names, or a `$?` to a number. */
export interface PlainWord {
  readonly text: string;
  readonly glob: boolean;
}

/** Whether the shell expands only `$?` in the word, so that it stays one word. */
export function isFixedButStatus({ text }: PlainWord): boolean {
  return text.includes("$?") && !/[*?[]/.test(text.replaceAll("$?", ""));
}

export interface PlainRedirect {
  readonly operator: string;
  readonly target: PlainWord;
}

export interface PlainCommand {
  readonly words: readonly PlainWord[];
  readonly redirects: readonly PlainRedirect[];
}

/**
 * Parses the small part of the shell language to which a command must keep to count as a read: literal words, quotes, globs, pipes, lists
 * and simple redirections. Returns undefined for anything else. It does not use the full grammar, so that it is a second, independent
 * opinion on what the words are.
 */
export function readPlainScript(source: string): PlainCommand[] | undefined {
  const tokens = tokenize(source);
  if (!tokens) return undefined;
  const commands: PlainCommand[] = [];
  let words: PlainWord[] = [];
  let redirects: PlainRedirect[] = [];
  let piped = false;
  const end = (connector: string): boolean => {
    const empty = words.length === 0;
    if (empty && redirects.length > 0) return false;
    // An empty command is allowed only before a newline or at the end of the text.
    if (empty) return connector === "\n" && !piped;
    commands.push({ words, redirects });
    [words, redirects, piped] = [[], [], connector === "|" || connector === "|&"];
    return true;
  };
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index]!;
    if (token.kind === "word") {
      if (words.length === 0 && isKeyword(token)) {
        if (token.text === "!") continue;
        return undefined;
      }
      words.push(token);
    } else if (token.kind === "redirect") {
      index += 1;
      const target = tokens[index];
      if (target?.kind !== "word") return undefined;
      redirects.push({ operator: token.operator, target });
    } else if (!end(token.text)) {
      return undefined;
    }
  }
  return end("\n") || (words.length === 0 && !piped) ? commands : undefined;
}

// --- internal ---

type Token =
  | (PlainWord & { readonly kind: "word"; readonly bare: boolean })
  | { readonly kind: "redirect"; readonly operator: string }
  | { readonly kind: "connector"; readonly text: string };

/** Matches blanks and comments; a redirection with its descriptor; or the end of a command. */
const OPERATOR = /[ \t]+|#[^\n]*|(?:\d{1,2}(?=[<>]))?(&>>?|<[>&<]?|>[>&|]?)|(&&|\|[|&]?|;|\n)/y;
/**
 * Matches a part of a word: an escaped character, quoted text, or a literal character. A tilde is literal except at the start of a word
 * and after `:` or `=`, where the shell expands it.
 */
const PIECE =
  /\\([^\n])|'([^']*)'|"((?:[^"\\`$]|\\[^\n]|\$(?=[" ])|\$\?)*)"|(\$\?|[A-Za-z0-9_./:=@%+,^!#*?[\]-]|[^\0-\x7f]|(?<=[A-Za-z0-9_^@}])~|\{[A-Za-z0-9_-]{0,62}\})/y;
const KEYWORDS = new Set(
  "! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while".split(" "),
);

function isKeyword(token: { text: string; bare: boolean }): boolean {
  return token.bare && (KEYWORDS.has(token.text) || /^[A-Za-z_][A-Za-z0-9_]*(\[.*\])?\+?=/.test(token.text));
}

function tokenize(source: string): Token[] | undefined {
  const tokens: Token[] = [];
  for (let at = 0; at < source.length; ) {
    OPERATOR.lastIndex = at;
    const [found, redirect, connector] = OPERATOR.exec(source) ?? [];
    if (redirect !== undefined) tokens.push({ kind: "redirect", operator: redirect });
    if (connector !== undefined) tokens.push({ kind: "connector", text: connector });
    const word = found === undefined ? readWord(source, at) : undefined;
    if (word) tokens.push(word.token);
    else if (found === undefined) return undefined;
    at = word?.end ?? OPERATOR.lastIndex;
  }
  return tokens;
}

function readWord(source: string, start: number): { token: Extract<Token, { kind: "word" }>; end: number } | undefined {
  let [text, glob, bare, end] = ["", false, true, start];
  PIECE.lastIndex = start;
  for (let piece = PIECE.exec(source); piece; piece = PIECE.exec(source)) {
    const [, escaped, single, double, plain] = piece;
    text += plain ?? escaped ?? single ?? double!.replace(/\\([$`"\\])/g, "$1");
    glob ||= (plain !== undefined && "$?*[]".includes(plain)) || double?.includes("$?") === true;
    bare &&= plain !== undefined;
    end = PIECE.lastIndex;
  }
  if (end === start || !/[ \t\n;|&<>]/.test(source[end] ?? " ")) return undefined;
  if (text === "[" || text === "]") glob = false;
  return { token: { kind: "word", text, glob, bare }, end };
}
