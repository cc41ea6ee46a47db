/**
 * `@chimera/acp-schema/text`: cuts texts between characters, collects growing texts, and quotes words for a shell. Strict parsers refuse
 * a record or a frame with half of a surrogate pair. This is an entry of its own, because code that cuts a text needs no schema.
 */

/**
 * At most `length` UTF-16 units of a text's beginning.
 *
 * @example
 * startOf("a long line", 6); // "a long"
 */
export function startOf(text: string, length: number): string {
  const end = Math.max(0, Math.min(length, text.length));
  return text.slice(0, isHalf(text.charCodeAt(end - 1), 0xd800) ? end - 1 : end);
}

/**
 * A copy of a text's beginning. A slice would keep all of a long text in memory.
 *
 * @example
 * const title = beginningOf(answer, 200); // the answer itself can be collected
 */
export function beginningOf(text: string, length: number): string {
  return text.length <= length ? text : (JSON.parse(JSON.stringify(startOf(text, length))) as string);
}

/**
 * At most `length` UTF-16 units of a text's end.
 *
 * @example
 * endOf("a long line", 4); // "line"
 */
export function endOf(text: string, length: number): string {
  const start = Math.max(0, text.length - Math.max(0, length));
  return text.slice(isHalf(text.charCodeAt(start), 0xdc00) ? start + 1 : start);
}

/** Characters that have no width, look like a space, or change how others are shown. */
const UNSEEN = /[\p{C}\p{Z}\u115f\u1160\u3164\uffa0]|\p{Variation_Selector}/gu;

/**
 * A text in which every character is visible: `UNSEEN` ones except spaces, tabs and line ends are written like `\u{202e}`.
 *
 * @example
 * visible("safe\u202etxt.exe"); // "safe\\u{202e}txt.exe"
 */
export function visible(text: string): string {
  return text.replace(UNSEEN, (one) => (/[ \n\t]/.test(one) ? one : `\\u{${one.codePointAt(0)!.toString(16)}}`));
}

/**
 * Quotes a text as one word of a shell. For a single quote, the quotes end and begin again around an escaped one.
 *
 * @example
 * quoteWord("it's"); // `'it'\\''s'`
 */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Like {@link quoteWord}, but leaves a word that needs no quotes unquoted, for people and rules to read.
 *
 * @example
 * plainWord("--all"); // "--all"
 * plainWord("two words"); // "'two words'"
 */
export function plainWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : quoteWord(text);
}

/** A text that grows by pieces. They are joined in blocks, because thousands of pieces would slow every garbage collection. */
export interface GrowingText {
  add(piece: string): void;
  /** The whole text so far. */
  read(): string;
  /** Returns the whole text so far and starts again with an empty one. */
  take(): string;
}

/**
 * A text that grows by pieces and is joined only when it is read.
 *
 * @example
 * const text = createGrowingText();
 * for (const piece of ["Hel", "lo"]) text.add(piece);
 * text.read(); // "Hello"
 */
export function createGrowingText(): GrowingText {
  let blocks: string[] = [];
  let pieces: string[] = [];
  const read = (): string => {
    if (pieces.length > 0) blocks.push(pieces.join(""));
    pieces = [];
    if (blocks.length > 1) blocks = [blocks.join("")];
    return blocks[0] ?? "";
  };
  return {
    read,
    add(piece) {
      if (pieces.push(piece) < PIECES_PER_BLOCK) return;
      blocks.push(pieces.join(""));
      pieces = [];
    },
    take() {
      const text = read();
      blocks = [];
      return text;
    },
  };
}

// --- internal ---

const PIECES_PER_BLOCK = 64;

/** Whether a unit is half of a surrogate pair. First halves begin at 0xd800, second ones at 0xdc00. */
function isHalf(unit: number, first: number): boolean {
  return unit >= first && unit < first + 0x400;
}
