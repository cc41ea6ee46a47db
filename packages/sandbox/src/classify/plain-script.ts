/** A word whose value is known from the text alone; `glob` when the shell may still turn it into file names. */
export interface PlainWord {
  readonly text: string;
  readonly glob: boolean;
}

export interface PlainRedirect {
  readonly operator: string;
  readonly target: PlainWord;
}

export interface PlainCommand {
  readonly words: readonly PlainWord[];
  readonly redirects: readonly PlainRedirect[];
  /** Part of a pipeline, so it runs in a process of its own. */
  readonly piped: boolean;
}

/**
 * Reads the small part of the shell language that a command must stay within to count as a read: literal words, quotes, globs,
 * pipes, lists and simple redirections. Anything else gives undefined. It knows nothing of the full grammar on purpose: it is the
 * second, independent opinion on what the words are.
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
    // Only a newline, or the end of the text, may follow nothing.
    if (empty) return connector === "\n" && !piped;
    const pipes = connector === "|" || connector === "|&";
    commands.push({ words, redirects, piped: piped || pipes });
    [words, redirects, piped] = [[], [], pipes];
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

const BARE = /[A-Za-z0-9_./:=@%+,^!#~-]/;
const CONNECTORS = ["&&", "||", "|&", "|", ";", "\n"];
const REDIRECTS = ["&>>", "&>", "<>", "<<", "<&", ">>", ">&", ">|", "<", ">"];
const KEYWORDS = new Set(
  "! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while".split(" "),
);

function isKeyword(token: { text: string; bare: boolean }): boolean {
  return token.bare && (KEYWORDS.has(token.text) || /^[A-Za-z_][A-Za-z0-9_]*(\[.*\])?\+?=/.test(token.text));
}

function tokenize(source: string): Token[] | undefined {
  const tokens: Token[] = [];
  let at = 0;
  while (at < source.length) {
    const character = source[at]!;
    if (character === " " || character === "\t") {
      at += 1;
      continue;
    }
    if (character === "#") {
      const newline = source.indexOf("\n", at);
      at = newline === -1 ? source.length : newline;
      continue;
    }
    const descriptor = /^\d+(?=[<>])/.exec(source.slice(at, at + 3))?.[0] ?? "";
    const redirect = REDIRECTS.find((operator) => source.startsWith(operator, at + descriptor.length));
    if (redirect) {
      tokens.push({ kind: "redirect", operator: redirect });
      at += descriptor.length + redirect.length;
      continue;
    }
    const connector = CONNECTORS.find((operator) => source.startsWith(operator, at));
    if (connector) {
      tokens.push({ kind: "connector", text: connector });
      at += connector.length;
      continue;
    }
    const word = readWord(source, at);
    if (!word) return undefined;
    tokens.push(word.token);
    at = word.end;
  }
  return tokens;
}

function readWord(source: string, start: number): { token: Extract<Token, { kind: "word" }>; end: number } | undefined {
  let text = "";
  let glob = false;
  let bare = true;
  let at = start;
  while (at < source.length) {
    const character = source[at]!;
    if (" \t\n;|&<>".includes(character)) break;
    const quoted = readQuoted(source, at);
    if (quoted === "unsupported") return undefined;
    if (quoted) {
      text += quoted.text;
      at = quoted.end;
      bare = false;
      continue;
    }
    const braces = /^\{[A-Za-z0-9_-]*\}/.exec(source.slice(at, at + 64))?.[0];
    const piece = braces ?? character;
    const isGlob = "*?[]".includes(character);
    // A tilde expands at the start of a word and after `:` or `=`.
    if (character === "~" && (at === start || !/[A-Za-z0-9_^@}]/.test(source[at - 1]!))) return undefined;
    if (!braces && !isGlob && !BARE.test(character) && character <= "\x7f") return undefined;
    glob ||= isGlob;
    text += piece;
    at += piece.length;
  }
  if (at === start) return undefined;
  if (text === "[" || text === "]") glob = false;
  return { token: { kind: "word", text, glob, bare }, end: at };
}

function readQuoted(source: string, at: number): { text: string; end: number } | "unsupported" | undefined {
  const character = source[at];
  if (character === "\\") {
    const next = source[at + 1];
    return next === undefined || next === "\n" ? "unsupported" : { text: next, end: at + 2 };
  }
  if (character === "'") {
    const close = source.indexOf("'", at + 1);
    return close === -1 ? "unsupported" : { text: source.slice(at + 1, close), end: close + 1 };
  }
  if (character !== '"') return undefined;
  let text = "";
  for (let index = at + 1; index < source.length; index += 1) {
    const inner = source[index]!;
    const next = source[index + 1] ?? "";
    if (inner === '"') return { text, end: index + 1 };
    if (inner === "`" || (inner === "$" && next !== '"' && next !== " ")) return "unsupported";
    if (inner !== "\\") text += inner;
    else if (next === "\n") return "unsupported";
    else {
      text += '$`"\\'.includes(next) ? next : `\\${next}`;
      index += 1;
    }
  }
  return "unsupported";
}
