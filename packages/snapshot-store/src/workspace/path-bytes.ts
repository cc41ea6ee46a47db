/**
 * File names are bytes, JSON keys are text. A byte that is not valid UTF-8 travels as a lone low surrogate (U+DC80 + byte
 * - 0x80), which no valid name contains and which JSON keeps as an escape; every name survives the round trip.
 */
const LONE_LOW_SURROGATE = /[\udc80-\udcff]/u;
const REPLACEMENT = "\ufffd";

/** The name as text; reversible whatever its bytes. */
export function textOfBytes(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  if (!text.includes(REPLACEMENT) || Buffer.from(text, "utf8").equals(bytes)) return text;
  let out = "";
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    out += length === 0 ? String.fromCharCode(0xdc00 + bytes[at]!) : bytes.toString("utf8", at, at + length);
    at += length === 0 ? 1 : length;
  }
  return out;
}

/** The path for calls of the file system: the text itself, or the bytes it stands for. */
export function fsPath(path: string): string | Buffer {
  return LONE_LOW_SURROGATE.test(path) ? bytesOfText(path) : path;
}

export function bytesOfText(text: string): Buffer {
  if (!LONE_LOW_SURROGATE.test(text)) return Buffer.from(text, "utf8");
  const parts: Buffer[] = [];
  for (const char of text) {
    const code = char.codePointAt(0)!;
    parts.push(code >= 0xdc80 && code <= 0xdcff ? Buffer.from([code - 0xdc00]) : Buffer.from(char, "utf8"));
  }
  return Buffer.concat(parts);
}

// --- internal ---

/** Length of the valid UTF-8 sequence that starts here, 0 when there is none. */
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at]!;
  const length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  const slice = bytes.subarray(at, at + length);
  return Buffer.from(slice.toString("utf8"), "utf8").equals(slice) ? length : 0;
}
