/** Unified diffs on a terminal. */
import type { Style } from "./style.js";
import { plain } from "./text.js";

/** How a line of a unified diff is coloured. */
export function paintOf(line: string, style: Style): (text: string) => string {
  if (line.startsWith("+")) return style.green;
  if (line.startsWith("-")) return style.red;
  return line.startsWith("@@") ? style.cyan : style.dim;
}

/** A unified diff, coloured; nothing where nothing changed. */
export function diffLines(diff: string, style: Style): string[] {
  const all = plain(diff).split("\n");
  // What stands before the first hunk names the file, which the tool's own line does.
  const start = all.findIndex((line) => line.startsWith("@@"));
  if (start < 0) return [];
  const lines = all.slice(start).filter((line) => !line.startsWith("\\ "));
  while (lines.at(-1)?.trim() === "") lines.pop();
  return lines.map((line) => `  ${paintOf(line, style)(line)}`);
}
