const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether objects and arrays nest deeper than `maxDepth`; linear, and safe on text that is not JSON. */
export function exceedsDepth(text: string, maxDepth: number): boolean {
  if (deepestPossible(text) <= maxDepth || roomAfter(text, "[", roomAfter(text, "{", maxDepth)) >= 0) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i);
    // `{` and `[`, then `}` and `]`, differ by one bit.
    else if ((code | 0x20) === 0x7b) {
      if (++depth > maxDepth) return true;
    } else if ((code | 0x20) === 0x7d) depth--;
  }
  return false;
}

/** The source text of a numeric top-level `id`, since `JSON.parse` rounds: the last of several, as there. */
export function numericIdText(text: string): string | undefined {
  let depth = 0;
  let found: string | undefined;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      const end = endOfString(text, i);
      if (depth === 1 && isId(text.slice(i, end + 1))) {
        const colon = skipBlank(text, end + 1);
        if (text.charCodeAt(colon) === 0x3a) {
          NUMBER.lastIndex = skipBlank(text, colon + 1);
          found = NUMBER.exec(text)?.[0];
        }
      }
      i = end;
    } else if ((code | 0x20) === 0x7b) depth++;
    else if ((code | 0x20) === 0x7d) depth--;
  }
  return found;
}

// --- internal ---

const NUMBER = /-?\d[\d.eE+-]*/y;
const LONGEST_ID = '"\\u0069\\u0064"'.length;

/** Whether a string literal says `id`, which it can also do with escapes. */
function isId(literal: string): boolean {
  return (
    literal === '"id"' || (literal.length <= LONGEST_ID && literal.includes("\\u") && JSON.parse(literal) === "id")
  );
}

/** What the length allows: an object level takes `{"":` and `}`, an array level `[` and `]`. Clears most frames. */
function deepestPossible(text: string): number {
  const array = text.indexOf("[");
  return array === -1 ? text.length / 5 : array / 8 + (text.length - array) / 2;
}

/** What is left of `room` after all occurrences of `character`; negative as soon as there are more. */
function roomAfter(text: string, character: string, room: number): number {
  let left = room;
  for (let i = text.indexOf(character); i !== -1 && left >= 0; i = text.indexOf(character, i + 1)) left--;
  return left;
}

/** Index of the quote that closes the string opened at `open`, or the text's length. */
function endOfString(text: string, open: number): number {
  let i = open + 1;
  for (let quote = text.indexOf('"', i); quote !== -1; quote = text.indexOf('"', i)) {
    if (!isEscaped(text, quote, i)) return quote;
    const dense = quote - i < 16;
    i = quote + 1;
    // Where quotes stand close together a search for each costs more than a walk.
    for (const stop = dense ? i + 32 : i; i < stop; ) {
      const code = text.charCodeAt(i);
      if (code === QUOTE) return i;
      i += code === BACKSLASH ? 2 : 1;
    }
  }
  return text.length;
}

/** Whether an odd number of backslashes precedes `index`; the one at `from`, or before it, escapes nothing beyond it. */
function isEscaped(text: string, index: number, from: number): boolean {
  let i = index;
  while (i > from && text.charCodeAt(i - 1) === BACKSLASH) i--;
  return (index - i) % 2 === 1;
}

function skipBlank(text: string, from: number): number {
  let i = from;
  while (text.charCodeAt(i) <= 0x20) i++;
  return i;
}
