/** Prepares text for a terminal: makes it safe, measures and cuts it, and colours diffs. */
import { stripVTControlCharacters } from "node:util";
import type { Style } from "./style.js";

/** Control characters except tab and newline, and the marks that reorder text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Makes untrusted text safe to show: it must not move the cursor, or change colours or the title of the terminal. */
export function plain(text: string): string {
  return stripVTControlCharacters(text.replaceAll("\r\n", "\n")).replace(UNSAFE, "");
}

/** The same on one line. */
export function plainLine(text: string): string {
  return plain(text).replace(/\s+/g, " ").trim();
}

/** `2026-11-18 09:05` in the person's time zone; empty for an unknown time. */
export function localTime(time: string | null): string {
  const date = new Date(time ?? Number.NaN);
  if (Number.isNaN(date.getTime())) return "";
  const two = (part: number) => String(part).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Columns of a text on the screen. */
type WidthOf = (text: string) => number;

/** A function that measures these texts. ASCII needs no tables, which would take longer to load than the list to print. */
export async function measureFor(texts: readonly string[]): Promise<WidthOf> {
  return texts.every((text) => ASCII.test(text)) ? (text) => text.length : (await import("string-width")).default;
}

/** Cuts a text to `width` columns, with an ellipsis at the end. */
export function cut(text: string, width: number, widthOf: WidthOf): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let taken = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    taken += widthOf(segment);
    if (taken > width - 1) break;
    kept += segment;
  }
  return width > 0 ? `${kept}…` : "";
}

/** `1 step`, `2 steps`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** `340ms`, `4.2s`, `3m 05s`. Rounds before splitting, so that no part is 60. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, "0")}s`;
}

/** The colour of a line in a unified diff. */
export function paintOf(line: string, style: Style): (text: string) => string {
  if (line.startsWith("+")) return style.green;
  if (line.startsWith("-")) return style.red;
  return line.startsWith("@@") ? style.cyan : style.dim;
}

/** The coloured lines of a unified diff; empty without changes. */
export function diffLines(diff: string, style: Style): string[] {
  const all = plain(diff).split("\n");
  // Skip the lines before the first hunk: they name the file, which the tool's own line does already.
  const start = all.findIndex((line) => line.startsWith("@@"));
  if (start < 0) return [];
  const lines = all.slice(start).filter((line) => !line.startsWith("\\ "));
  while (lines.at(-1)?.trim() === "") lines.pop();
  return lines.map((line) => `  ${paintOf(line, style)(line)}`);
}

// --- internal ---

const ASCII = /^[\x20-\x7e]*$/;
