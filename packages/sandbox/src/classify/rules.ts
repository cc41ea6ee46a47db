/** A person's own rules. `deny` beats `ask`, which beats `allow`. The built-in policy judges a command that matches none. */
export interface CommandRules {
  readonly allow?: readonly string[];
  readonly ask?: readonly string[];
  readonly deny?: readonly string[];
}

/**
 * Whether a rule matches the words of a parsed command. `*` matches any text; at the end it stops at a word boundary: `git status*` matches
 * `git status -s` but not `git statusx`. A word with blanks never matches as several words.
 *
 * @example
 * matchRule("npm run *", ["npm", "run", "test"]); // true
 */
export function matchRule(pattern: string, argv: readonly string[]): boolean {
  const rule = pattern.trim().replace(/\s+/g, " ");
  const text = argv.map((word) => (/^\S+$/.test(word) ? word : JSON.stringify(word))).join(" ");
  if (rule === "*") return argv.length > 0;
  if (!rule.endsWith("*")) return globMatches(rule, text);
  const stem = rule.slice(0, -1).trimEnd();
  return globMatches(stem, text) || globMatches(`${stem} *`, text);
}

/** Whether a `deny` or `ask` rule could match this command, even with a path before the program, options in between, or unknown words. */
export function couldMatch(pattern: string, argv: readonly (string | undefined)[]): boolean {
  const words = argv.map((word, index) => (index === 0 ? (word ?? "").replace(/^.*\//, "") : (word ?? "\0")));
  const wanted = pattern.trim().split(/\s+/);
  const trailing = wanted.at(-1) ?? "";
  const steps = trailing === "*" ? wanted.slice(0, -1) : [...wanted.slice(0, -1), trailing.replace(/\*$/, "")];
  const open = trailing.endsWith("*");
  return matchRule(pattern, words) || stepsMatch(steps, words, open);
}

/** Whether the text matches a pattern in which only `*` is special. Linear in practice: after a mismatch only the last star moves. */
export function globMatches(pattern: string, text: string): boolean {
  let [at, star, mark, index] = [0, -1, 0, 0];
  while (index < text.length) {
    if (at < pattern.length && pattern[at] === "*") {
      [star, mark] = [at, index];
      at += 1;
    } else if (at < pattern.length && pattern[at] === text[index]) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      at = star + 1;
      mark += 1;
      index = mark;
    } else {
      return false;
    }
  }
  while (pattern[at] === "*") at += 1;
  return at >= pattern.length;
}

/**
 * Makes a pattern for `globMatches` that matches at least as much as a shell pattern: each wildcard, and each escaped character, becomes `*`. Brackets reach to the last
 * one, because `[]a]` and `[[:alpha:]]` have more than one that could end them.
 */
export function loosened(pattern: string): string {
  return pattern.replace(/\\.|\?|\[.*\]|\[.*/gs, "*");
}

// --- internal ---

/** Whether the words have the steps in order, with only options and their values in between. */
function stepsMatch(steps: readonly string[], words: readonly string[], open: boolean): boolean {
  const [first, ...rest] = steps;
  if (first === undefined || !couldBe(first, words[0] ?? "")) return false;
  let at = 1;
  for (const step of rest) {
    while (at < words.length && !couldBe(step, words[at]!)) {
      const skippable = words[at]!.startsWith("-") || (at > 1 && words[at - 1]!.startsWith("-"));
      if (!skippable) return false;
      at += 1;
    }
    if (at >= words.length) return false;
    at += 1;
  }
  return open || at >= words.length;
}

/** Whether a word could be the rule's step: `g?t` may expand to `git`. */
function couldBe(step: string, word: string): boolean {
  return globMatches(step, word) || (/[*?[]/.test(word) && globMatches(loosened(word), step));
}
