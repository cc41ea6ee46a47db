/** Breaks a line between words; colours may run on across the break, for they end where the line ends. */
import stringWidth from "string-width";

/** Narrower screens are left to the terminal: words would hardly fit. */
const NARROWEST = 20;

/** @param indent columns that further lines start at, so that an item of a list stays one block. */
export function wrap(line: string, width: number | undefined, indent: number): string {
  if (width === undefined || width < NARROWEST || stringWidth(line) <= width) return line;
  const start = " ".repeat(Math.min(indent, Math.floor(width / 2)));
  const lines: string[] = [];
  let current = "";
  let taken = 0;
  for (const word of line.split(/(?<=\S)(?=\s)/)) {
    const size = stringWidth(word);
    if (current.trim() !== "" && taken + size > width) {
      lines.push(current);
      current = start + word.trimStart();
      taken = stringWidth(current);
    } else {
      current += word;
      taken += size;
    }
  }
  return [...lines, current].join("\n");
}
