/** A unified diff, coloured, and cut when it is long; nothing where nothing changed. */
import { plain } from "./plain.js";
import type { Style } from "./style.js";

/** Longer diffs are summed up: the files tell the rest. */
const MOST_LINES = 40;

export function renderDiff(diff: string, style: Style): string[] {
  const all = plain(diff).split("\n");
  // What stands before the first hunk names the file, which the tool's own line does.
  const start = all.findIndex((line) => line.startsWith("@@"));
  if (start < 0) return [];
  const lines = all.slice(start).filter((line) => !line.startsWith("\\ "));
  while (lines.at(-1)?.trim() === "") lines.pop();
  const shown = lines.slice(0, MOST_LINES).map((line) => paintOf(line, style)(line));
  const hidden = lines.length - shown.length;
  return hidden > 0 ? [...shown, style.dim(`… ${hidden} more lines`)] : shown;
}

// --- internal ---

function paintOf(line: string, style: Style): (text: string) => string {
  if (line.startsWith("+")) return style.green;
  if (line.startsWith("-")) return style.red;
  return line.startsWith("@@") ? style.cyan : style.dim;
}
