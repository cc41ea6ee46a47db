/** Clients and models cut texts by UTF-16 units, so they may also cut a surrogate pair in two. */

/** Whether the text ends with the first half of a surrogate pair. */
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
