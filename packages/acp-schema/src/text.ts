/**
 * `@chimera/acp-schema/text`: texts cut by length, between characters. Half of a surrogate pair makes a record or a frame that strict
 * parsers refuse. By itself, since whoever cuts a text needs no schema.
 */

/** At most so many UTF-16 units of a text's beginning. */
export function startOf(text: string, length: number): string {
  const end = Math.max(0, Math.min(length, text.length));
  return text.slice(0, isHalf(text.charCodeAt(end - 1), 0xd800) ? end - 1 : end);
}

/** The same of its end. */
export function endOf(text: string, length: number): string {
  const start = Math.max(0, text.length - Math.max(0, length));
  return text.slice(isHalf(text.charCodeAt(start), 0xdc00) ? start + 1 : start);
}

// --- internal ---

/** First halves begin at 0xd800, second ones at 0xdc00. */
function isHalf(unit: number, first: number): boolean {
  return unit >= first && unit < first + 0x400;
}
