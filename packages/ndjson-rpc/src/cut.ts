/** At most so many UTF-16 units of a text's beginning, cut between characters: half of one makes a frame that strict parsers refuse. */
export function startOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, "");
}
