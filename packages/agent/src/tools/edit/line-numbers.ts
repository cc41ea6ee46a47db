/** The line numbers that Read puts before lines, and their removal when a model pastes them back. */

/** Formats a line for Read. */
export function numbered(line: string, number: number): string {
  return `${number}\t${line}`;
}

/** Removes line numbers from a passage and its replacement. Null unless every line has one and they count up. */
export function withoutNumbers(
  old: string,
  replacement: string,
): { old: string; replacement: string; line: number } | null {
  const was = old.split("\n").map(parse);
  const end = was.at(-1)?.isBlank ? was.length - 1 : was.length;
  const [first] = was;
  if (first?.number === undefined || was.slice(0, end).some(({ number }, at) => number !== (first.number ?? 0) + at))
    return null;
  const now = replacement.split("\n").map(parse);
  const some = now.filter(({ isBlank }) => !isBlank);
  const isNumbered = some.every(({ number }) => number !== undefined);
  // If only some lines of the replacement have numbers, they may be part of the text.
  if (!isNumbered && some.some(({ number }) => number !== undefined)) return null;
  return {
    old: was.map(({ rest }) => rest).join("\n"),
    replacement: isNumbered ? now.map(({ rest }) => rest).join("\n") : replacement,
    line: first.number,
  };
}

// --- internal ---

interface NumberedLine {
  readonly number: number | undefined;
  readonly rest: string;
  readonly isBlank: boolean;
}

/** Parses Read's own format and those of other programs: `12→`, `12|`, `12: `. */
function parse(line: string): NumberedLine {
  const found = /^\s*(\d{1,7})(?:\t|\u2192|\s*\|\s?|:\s?|$)(.*)$/s.exec(line);
  if (!found) return { number: undefined, rest: line, isBlank: line.trim() === "" };
  return { number: Number(found[1]), rest: found[2] ?? "", isBlank: false };
}
