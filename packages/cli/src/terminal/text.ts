/** Text on its way to a terminal: made safe, measured, cut, and coloured where it is a diff. */
import { stripVTControlCharacters } from "node:util";
import type { Style } from "./style.js";

/** Controls but tab and newline, and the marks that reorder text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is about
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text of a model, a file or a server, made safe to show: it must not move the cursor, recolour or retitle the terminal. */
export function plain(text: string): string {
  return stripVTControlCharacters(text.replaceAll("\r\n", "\n")).replace(UNSAFE, "");
}

/** The same on one line. */
export function plainLine(text: string): string {
  return plain(text).replace(/\s+/g, " ").trim();
}

/** `2026-11-18 09:05`, where the person is; blank for a time that nobody wrote down. */
export function localTime(time: string | null): string {
  const date = new Date(time ?? Number.NaN);
  if (Number.isNaN(date.getTime())) return "";
  const two = (part: number) => String(part).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** How many columns a text without colours takes on the screen. */
type WidthOf = (text: string) => number;

/** What measures these texts. Most are ASCII, and the tables for all others take longer to load than a list to print. */
export async function measureFor(texts: readonly string[]): Promise<WidthOf> {
  return texts.every((text) => ASCII.test(text)) ? (text) => text.length : (await import("string-width")).default;
}

/** At most `width` columns of a text, the last one an ellipsis when something is missing. */
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

/** `340ms`, `4.2s`, `3m 05s`. Rounded before it is split, so that no part says 60. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, "0")}s`;
}

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

// --- internal ---

const ASCII = /^[\x20-\x7e]*$/;
