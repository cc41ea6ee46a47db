/**
 * Texts cut by length, between characters: half of a surrogate pair makes a record or a frame that strict parsers refuse.
 */

/** At most so many UTF-16 units of a text's beginning. */
export function startOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, "");
}

/** The same of its end. */
export function endOf(text: string, length: number): string {
  return length <= 0 ? "" : text.slice(-length).replace(/^[\udc00-\udfff]/, "");
}
