const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether objects and arrays nest deeper than `maxDepth`; linear, and safe on text that is not JSON. */
export function exceedsDepth(text: string, maxDepth: number): boolean {
  if (isTooShortFor(maxDepth + 1, text) || roomAfter(text, "[", roomAfter(text, "{", maxDepth)) >= 0) return false;
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

/**
 * The source text of the number under the top-level key `id` of a valid JSON object: `1e3` and
 * `12345678901234567890` do not survive `JSON.parse`. The last of several wins, as in `JSON.parse`.
 */
export function numericIdText(text: string): string | undefined {
  let depth = 0;
  let found: string | undefined;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      const end = endOfString(text, i);
      if (depth === 1) {
        const colon = skipBlank(text, end + 1);
        if (text.charCodeAt(colon) === 0x3a && JSON.parse(text.slice(i, end + 1)) === "id") {
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

/** An array level takes 2 characters, an object level 5 (`{"":}`): most frames are cleared by their length alone. */
function isTooShortFor(levels: number, text: string): boolean {
  const arraysNeeded = Math.ceil((5 * levels - text.length) / 3);
  return arraysNeeded > 0 && (arraysNeeded > levels || roomAfter(text, "[", arraysNeeded - 1) >= 0);
}

/** What is left of `room` after all occurrences of `character`; negative as soon as there are more. */
function roomAfter(text: string, character: string, room: number): number {
  let left = room;
  for (let i = text.indexOf(character); i !== -1 && left >= 0; i = text.indexOf(character, i + 1)) left--;
  return left;
}

/**
 * Index of the quote that closes the string opened at `open`, or the text's length. Short strings and strings full of
 * escapes are walked; long plain ones are jumped over.
 */
function endOfString(text: string, open: number): number {
  let i = open + 1;
  let walkTo = i + 64;
  while (i < text.length) {
    if (i < walkTo) {
      const code = text.charCodeAt(i);
      if (code === QUOTE) return i;
      i += code === BACKSLASH ? 2 : 1;
      continue;
    }
    const quote = text.indexOf('"', i);
    if (quote === -1) break;
    let backslashes = 0;
    while (quote - backslashes > i && text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote;
    i = quote + 1;
    walkTo = i + 64;
  }
  return text.length;
}

function skipBlank(text: string, from: number): number {
  let i = from;
  while (text.charCodeAt(i) <= 0x20) i++;
  return i;
}
