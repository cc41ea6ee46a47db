/**
 * Strict parsers refuse a whole line for half of a surrogate pair in it, so one such text would hide the session, and any list with it,
 * from their clients. Clients and models do send halves: where a text was cut by UTF-16 units.
 */

/**
 * The value with U+FFFD for each half of a surrogate pair in its texts and names; the value itself where there is none.
 *
 * @example
 * wellFormed({ title: "a\ud83d" }); // { title: "a\ufffd" }
 */
export function wellFormed<T>(value: T): T;
export function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return isWellFormed(value) ? value : value.replace(HALVES, "\ufffd");
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => wellFormed(item));
    return items.some((item, at) => item !== value[at]) ? items : value;
  }
  const names = Object.keys(value);
  const before = Object.values(value);
  const after = before.map((one) => wellFormed(one));
  if (names.every((name, at) => after[at] === before[at] && isWellFormed(name))) return value;
  return Object.fromEntries(names.map((name, at) => [wellFormed(name), after[at]]));
}

/** Whether the text has no half of a pair. Node knows it by itself, in a fiftieth of the time of a search. */
export function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

/** Whether the text ends inside a character, between the halves of a pair. */
export function isCut(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last < 0xdc00;
}

/** The text in pieces of at most `length` units, cut between characters. */
export function piecesOf(text: string, length: number): readonly string[] {
  if (text.length <= length) return [text];
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    const most = text.slice(start, start + length);
    const piece = start + length < text.length && isCut(most) ? most.slice(0, -1) : most;
    pieces.push(piece);
    start += piece.length;
  }
  return pieces;
}

// --- internal ---

/** With `u`, a whole pair is one character and does not match. */
const HALVES = /\p{Surrogate}/gu;
