/** The encodings of text files. A file is written back in the encoding it had, byte for byte where the text did not change. */
import { isUtf8 } from "node:buffer";
import { orElse } from "@chimera/acp-schema/lenient";
import { AgentError } from "../errors.js";

export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "latin-1";

/** Null for bytes that are not text. Latin-1 comes last: it has a character for every byte, so nothing is lost. */
export function encodingOf(bytes: Buffer): Encoding | null {
  const wide = wideMark(bytes);
  if (wide) return bytes.length % 2 === 0 ? wide : null;
  if (bytes.includes(0)) return null;
  if (isUtf8(bytes)) return "utf-8";
  return CONTROLS.test(bytes.toString("latin1")) ? null : "latin-1";
}

/** The encoding that a byte order mark of two bytes names. */
export function wideMark(bytes: Uint8Array): "utf-16le" | "utf-16be" | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes[2] === 0 && bytes[3] === 0 ? null : "utf-16le";
  return bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : null;
}

/** Keeps a byte order mark in the text. Null for bytes that would change when written back. */
export function decodeText(bytes: Buffer, encoding: Encoding): string | null {
  if (encoding === "latin-1") return bytes.toString("latin1").replace(/[\x80-\x9f]/g, widen);
  return orElse(() => new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes), null);
}

/** Throws `not_text` for a character that the encoding cannot represent. */
export function encodeText(text: string, encoding: Encoding, name: string): Buffer {
  if (encoding === "utf-8") return Buffer.from(text);
  if (encoding === "latin-1") return Buffer.from(narrow(text, name), "latin1");
  const bytes = Buffer.from(text.startsWith(MARK) ? text : MARK + text, "utf16le");
  return encoding === "utf-16be" ? bytes.swap16() : bytes;
}

// --- internal ---

const MARK = "\ufeff";
/** Control characters that do not occur in text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for control characters
const CONTROLS = /[\x01-\x07\x0e-\x1a\x1c-\x1f]/;

/** The characters of Windows-1252 from 0x80 on, where Latin-1 itself has only control characters. */
const UPPER = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";

function widen(character: string): string {
  return UPPER[character.charCodeAt(0) - 0x80] as string;
}

/** Replaces each character by the one whose number is its byte. */
function narrow(text: string, name: string): string {
  return text.replace(/[^\0-\x7f\xa0-\xff]/gu, (character) => {
    const at = UPPER.indexOf(character);
    if (at !== -1) return String.fromCharCode(0x80 + at);
    const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0");
    throw new AgentError(
      "not_text",
      `${name} is Latin-1 text and cannot hold ${JSON.stringify(character)} (U+${code}): leave it out, or convert the file to UTF-8 first.`,
    );
  });
}
