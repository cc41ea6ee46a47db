const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether objects and arrays nest deeper than `maxDepth`; linear, and safe on text that is not JSON. */
export function exceedsDepth(text: string, maxDepth: number): boolean {
  // Every level needs an opening and a closing character.
  if (text.length < 2 * maxDepth + 2) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i);
    // 0x7b { and 0x5b [ differ from their closers 0x7d and 0x5d by 2, and from each other by one bit.
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

/** Index of the quote that closes the string opened at `open`, or the text's length. */
function endOfString(text: string, open: number): number {
  for (let i = text.indexOf('"', open + 1); i !== -1; i = text.indexOf('"', i + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(i - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return i;
  }
  return text.length;
}

function skipBlank(text: string, from: number): number {
  let i = from;
  while (text.charCodeAt(i) <= 0x20) i++;
  return i;
}
