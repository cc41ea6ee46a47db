/** At most so many UTF-16 units of a text's beginning, cut between characters: half of one makes a frame that strict parsers refuse. */
export function startOf(text: string, length: number): string {
  const end = Math.max(0, Math.min(length, text.length));
  const last = text.charCodeAt(end - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? end - 1 : end);
}
