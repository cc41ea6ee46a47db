/**
 * Matches globs without regular expressions: a set of states walks over the text once, so the time is at most the length of the text
 * times that of the pattern. There are two flavours: in a *rule* `*` matches slashes too; in a *path* only `**` does.
 */
export type GlobFlavour = "rule" | "path";

/** The steps that matching may still take. A step is one state at one character. Many matches can share one meter. */
export interface Meter {
  left: number;
}

/** Whether the text matches; null if the meter runs out first. */
export type GlobMatch = (text: string, meter?: Meter) => boolean | null;

/** Longer patterns match nothing. */
const MAX_PATTERN = 1000;
const MAX_ALTERNATIVES = 64;
/** Takes about thirty milliseconds. */
const MAX_STEPS = 2_000_000;
/** How many steps the compilation of one character of a pattern counts as. */
const COMPILING = 4;

/**
 * The steps that one match may take, to be shared by patterns that are matched together.
 *
 * @example
 * const meter = createMeter();
 * const isIgnored = patterns.some((pattern) => compileGlob(pattern, "path", meter)(path, meter)); // they share one limit
 */
export function createMeter(): Meter {
  return { left: MAX_STEPS };
}

/**
 * Compiles a pattern for many matches. It may hold `*`, `**`, `?`, `[abc]`, `[a-z]`, `[!a]` and, in paths, `{a,b}`.
 *
 * @example
 * const isTest = compileGlob("src/*.test.{ts,tsx}", "path");
 * isTest("src/page.test.tsx"); // true
 */
export function compileGlob(pattern: string, flavour: GlobFlavour, metered = createMeter()): GlobMatch {
  if (pattern.length > MAX_PATTERN) return () => false;
  metered.left -= pattern.length * COMPILING;
  if (metered.left < 0) return () => null;
  const alternatives = (flavour === "path" ? expandBraces(pattern) : [pattern]).map((each) => tokenize(each, flavour));
  return (text, meter = createMeter()) => {
    let unsure = false;
    for (const tokens of alternatives) {
      const matched = matches(tokens, text, meter);
      if (matched) return true;
      unsure ||= matched === null;
    }
    return unsure ? null : false;
  };
}

// --- internal ---

type Token =
  | { readonly type: "char"; readonly char: string }
  | { readonly type: "any"; readonly slash: boolean }
  | { readonly type: "star"; readonly slash: boolean }
  /** Any number of whole directories, also none. */
  | { readonly type: "directories" }
  | { readonly type: "set"; readonly ranges: readonly (readonly [string, string])[]; readonly negated: boolean };

function tokenize(pattern: string, flavour: GlobFlavour): Token[] {
  const tokens: Token[] = [];
  const chars = [...pattern];
  const crosses = flavour === "rule";
  const lastBracket = chars.lastIndexOf("]");
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
    } else if (char === "[" && lastBracket >= at + 2) {
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

const REACHED = 1;
const INSIDE = 2;

function matches(tokens: readonly Token[], text: string, meter: Meter): boolean | null {
  const states = new Uint8Array(tokens.length + 1);
  states[0] = REACHED;
  // Only states from `first` to `last` may be reached.
  let first = 0;
  let last = skip(states, tokens, 0, 0);
  for (const char of text) {
    meter.left -= last - first + 1;
    if (meter.left < 0) return null;
    if (last < tokens.length) last += 1;
    // Go backwards, so that each state is read before it is overwritten.
    for (let at = last; at >= first; at -= 1) {
      const comes = at > first && states[at - 1] !== 0 && accepts(tokens[at - 1] as Token, char);
      states[at] = comes ? REACHED : states[at] === 0 ? 0 : stayingAt(tokens[at], char);
    }
    while (first <= last && states[first] === 0) first += 1;
    while (last >= first && states[last] === 0) last -= 1;
    if (first > last) return false;
    last = skip(states, tokens, first, last);
  }
  return states[tokens.length] === REACHED;
}

/** Also reaches the states after tokens that may match nothing. Returns the last state that is reached then. */
function skip(states: Uint8Array, tokens: readonly Token[], first: number, last: number): number {
  let end = last;
  for (let at = first; at <= end; at += 1) {
    const type = tokens[at]?.type;
    if (states[at] !== REACHED || (type !== "star" && type !== "directories")) continue;
    states[at + 1] = REACHED;
    end = Math.max(end, at + 1);
  }
  return end;
}

/** The state of a token that takes this character and may take more. It is `INSIDE` in a directory's name, where the token cannot end. */
function stayingAt(token: Token | undefined, char: string): number {
  if (token?.type === "directories") return INSIDE;
  return token?.type === "star" && (token.slash || char !== "/") ? REACHED : 0;
}

/** Whether the token may take this character as its last. */
function accepts(token: Token, char: string): boolean {
  switch (token.type) {
    case "char":
      return token.char === char;
    case "any":
      return token.slash || char !== "/";
    case "set":
      return char !== "/" && token.ranges.some(([from, to]) => char >= from && char <= to) !== token.negated;
    case "directories":
      return char === "/";
    case "star":
      return false;
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
