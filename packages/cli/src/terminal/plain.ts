/** Text of a model, a file or a server, made safe to show: it must not move the cursor, recolour or retitle the terminal. */
import { stripVTControlCharacters } from "node:util";

/** Controls but tab and newline, and the marks that reorder text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is about
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function plain(text: string): string {
  return stripVTControlCharacters(text.replaceAll("\r\n", "\n")).replace(UNSAFE, "");
}

/** The same on one line. */
export function plainLine(text: string): string {
  return plain(text).replace(/\s+/g, " ").trim();
}
