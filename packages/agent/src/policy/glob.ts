/**
 * Globs without regular expressions: a set of states walks the text once, so time is length of text times length of pattern,
 * whatever the pattern. Two flavours: in a *rule* `*` crosses slashes; in a *path* it does not, and `**` does.
 */
export type GlobFlavour = "rule" | "path";

/** Longer patterns match nothing. */
const MAX_PATTERN = 1000;
const MAX_ALTERNATIVES = 64;

/** Compiles once, matches often. `?`, `[abc]`, `[a-z]`, `[!a]` and, in paths, `{a,b}` are understood. */
export function compileGlob(pattern: string, flavour: GlobFlavour): (text: string) => boolean {
  if (pattern.length > MAX_PATTERN) return () => false;
  const alternatives = (flavour === "path" ? expandBraces(pattern) : [pattern]).map((each) => tokenize(each, flavour));
  return (text) => alternatives.some((tokens) => matches(tokens, text));
}

// --- internal ---

type Token =
  | { readonly type: "char"; readonly char: string }
  | { readonly type: "any"; readonly slash: boolean }
  | { readonly type: "star"; readonly slash: boolean }
  /** Any number of whole directories, none included. */
  | { readonly type: "directories" }
  | { readonly type: "set"; readonly ranges: readonly (readonly [string, string])[]; readonly negated: boolean };

function tokenize(pattern: string, flavour: GlobFlavour): Token[] {
  const tokens: Token[] = [];
  const chars = [...pattern];
  const crosses = flavour === "rule";
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] as string;
    if (char === "*") {
      const double = chars[at + 1] === "*";
      const atStart = at === 0 || chars[at - 1] === "/";
      while (chars[at + 1] === "*") at += 1;
      const directories = double && !crosses && atStart && chars[at + 1] === "/";
      tokens.push(directories ? { type: "directories" } : { type: "star", slash: crosses || double });
      if (directories) at += 1;
    } else if (char === "?") {
      tokens.push({ type: "any", slash: crosses });
    } else if (char === "[" && chars.indexOf("]", at + 2) !== -1) {
      const end = chars.indexOf("]", at + 2);
      tokens.push(setOf(chars.slice(at + 1, end)));
      at = end;
    } else {
      tokens.push({ type: "char", char });
    }
  }
  return tokens;
}

function setOf(chars: readonly string[]): Token {
  const negated = chars[0] === "!" || chars[0] === "^";
  const body = negated ? chars.slice(1) : chars;
  const ranges: [string, string][] = [];
  for (let at = 0; at < body.length; at += 1) {
    const from = body[at] as string;
    const to = body[at + 1] === "-" ? body[at + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return { type: "set", ranges, negated };
}

function matches(tokens: readonly Token[], text: string): boolean {
  let states = new Set<number>();
  enter(states, tokens, 0);
  for (const char of text) {
    const next = new Set<number>();
    for (const state of states) step(next, tokens, state, char);
    if (next.size === 0) return false;
    states = next;
  }
  return states.has(tokens.length);
}

function step(next: Set<number>, tokens: readonly Token[], state: number, char: string): void {
  const token = tokens[state];
  if (token === undefined) return;
  switch (token.type) {
    case "star":
      if (token.slash || char !== "/") enter(next, tokens, state);
      return;
    case "directories":
      if (char === "/") enter(next, tokens, state + 1);
      next.add(state);
      return;
    default:
      if (accepts(token, char)) enter(next, tokens, state + 1);
  }
}

/** Being before something that may match nothing is also being after it. */
function enter(states: Set<number>, tokens: readonly Token[], state: number): void {
  let at = state;
  while (!states.has(at)) {
    states.add(at);
    const type = tokens[at]?.type;
    if (type !== "star" && type !== "directories") return;
    at += 1;
  }
}

function accepts(token: Exclude<Token, { type: "star" | "directories" }>, char: string): boolean {
  switch (token.type) {
    case "char":
      return token.char === char;
    case "any":
      return token.slash || char !== "/";
    case "set":
      return char !== "/" && token.ranges.some(([from, to]) => char >= from && char <= to) !== token.negated;
  }
}

function expandBraces(pattern: string): string[] {
  const done: string[] = [];
  const open = [pattern];
  while (open.length > 0 && done.length + open.length <= MAX_ALTERNATIVES) {
    const each = open.pop() as string;
    const group = /\{([^{}]*,[^{}]*)\}/.exec(each);
    if (!group) done.push(each);
    else {
      const [whole, inner = ""] = group;
      const after = each.slice(group.index + whole.length);
      open.push(...inner.split(",").map((choice) => each.slice(0, group.index) + choice + after));
    }
  }
  return [...done, ...open];
}
