/**
 * `@chimera/acp-schema/text`: texts cut by length, between characters, texts that grow, and words for a shell. Half of a surrogate
 * pair makes a record or a frame that strict parsers refuse. An entry of its own, because code that cuts a text needs no schema.
 */

/** At most so many UTF-16 units of a text's beginning. */
export function startOf(text: string, length: number): string {
  const end = Math.max(0, Math.min(length, text.length));
  return text.slice(0, isHalf(text.charCodeAt(end - 1), 0xd800) ? end - 1 : end);
}

/** The beginning of a text, as a text of its own: a slice of a long one would keep all of it in memory. */
export function beginningOf(text: string, length: number): string {
  return text.length <= length ? text : (JSON.parse(JSON.stringify(startOf(text, length))) as string);
}

/** At most so many of its end. */
export function endOf(text: string, length: number): string {
  const start = Math.max(0, text.length - Math.max(0, length));
  return text.slice(isHalf(text.charCodeAt(start), 0xdc00) ? start + 1 : start);
}

/** Characters that take no room, look like a space, or change how others are shown. */
const UNSEEN = /[\p{C}\p{Z}\u115f\u1160\u3164\uffa0]|\p{Variation_Selector}/gu;

/** A text whose every character can be seen: all of the above but spaces, tabs and line ends are written as `\u{202e}`. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (one) => (/[ \n\t]/.test(one) ? one : `\\u{${one.codePointAt(0)!.toString(16)}}`));
}

/** One word of a shell, whatever is in it: a single quote ends the quotes, stands alone and begins them again. */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The same, and a word that needs no quotes has none, for people and rules to read. */
export function plainWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : quoteWord(text);
}

/** A text that grows by pieces, joined in blocks: thousands of single ones would cost every garbage collection. */
export interface GrowingText {
  add(piece: string): void;
  /** The whole text so far. */
  read(): string;
  /** The whole text so far, and begins anew. */
  take(): string;
}

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

/** First halves begin at 0xd800, second ones at 0xdc00. */
function isHalf(unit: number, first: number): boolean {
  return unit >= first && unit < first + 0x400;
}
