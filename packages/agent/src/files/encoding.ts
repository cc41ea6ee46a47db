/** The encodings that text files are kept in. What is read in one is written back in it, byte for byte where nothing changed. */
import { isUtf8 } from "node:buffer";
import { AgentError } from "../errors.js";

export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "latin-1";

/** Null for what is not text. Latin-1 is what remains: every byte of it is a character, so nothing is lost. */
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

/** A byte order mark stays in the text. Null for bytes that would not survive being written back. */
export function decodeText(bytes: Buffer, encoding: Encoding): string | null {
  if (encoding === "latin-1") return bytes.toString("latin1").replace(/[\x80-\x9f]/g, widen);
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Throws `not_text` for a character that the encoding does not have. */
export function encodeText(text: string, encoding: Encoding, name: string): Buffer {
  if (encoding === "utf-8") return Buffer.from(text);
  if (encoding === "latin-1") return Buffer.from(narrow(text, name), "latin1");
  const bytes = Buffer.from(text.startsWith(MARK) ? text : MARK + text, "utf16le");
  return encoding === "utf-16be" ? bytes.swap16() : bytes;
}

// --- internal ---

const MARK = "\ufeff";
/** Text has none of these. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\x01-\x07\x0e-\x1a\x1c-\x1f]/;

/** What Windows has for the bytes from 0x80 on, where Latin-1 proper has nothing that a text holds. */
const UPPER = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";

function widen(character: string): string {
  return UPPER[character.charCodeAt(0) - 0x80] as string;
}

/** Each character as the one of the same number as its byte. */
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
