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
  if (typeof value === "string") return (value as Mendable).toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  const given = Object.entries(value);
  const whole = given.map(([name, one]) => [wellFormed(name), wellFormed(one)] as const);
  if (whole.every(([name, one], at) => name === given[at]![0] && one === given[at]![1])) return value;
  return Array.isArray(value) ? whole.map(([, one]) => one) : Object.fromEntries(whole);
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

/** Node has it; the library that this is compiled with does not know it yet. */
type Mendable = string & { toWellFormed(): string };
