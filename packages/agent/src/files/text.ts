/**
 * What bytes are: text that can be edited and written back unchanged, a picture, or something else. A large text is turned into
 * bytes and back in pieces, between which the rest of the process goes on.
 */
import { AgentError } from "../errors.js";

const PIECE = 1024 * 1024;

/** Takes a text file chunk by chunk. Keeps a byte order mark; refuses what would not survive being written back. */
export function createTextDecoder(path: string): { decode(chunk: Uint8Array): string; end(): string } {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const decode = (chunk: Uint8Array, stream: boolean): string => {
    if (chunk.includes(0)) throw new AgentError("not_text", `${path} is a binary file.`);
    try {
      return decoder.decode(chunk, { stream });
    } catch (cause) {
      throw new AgentError("not_text", `${path} is not valid UTF-8 text.`, { cause });
    }
  };
  return { decode: (chunk) => decode(chunk, true), end: () => decode(new Uint8Array(), false) };
}

/** The text in pieces that can be encoded one by one. */
export function* piecesOf(text: string): Generator<string> {
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = Math.min(at + PIECE, text.length);
    // Not between the halves of one character.
    if (/[\ud800-\udbff]/.test(text[end - 1] as string)) end += 1;
    yield text.slice(at, end);
  }
}

const SIGNATURES: readonly { readonly mimeType: string; readonly at: number; readonly bytes: string }[] = [
  { mimeType: "image/png", at: 0, bytes: "\x89PNG\r\n\x1a\n" },
  { mimeType: "image/jpeg", at: 0, bytes: "\xff\xd8\xff" },
  { mimeType: "image/gif", at: 0, bytes: "GIF8" },
  { mimeType: "image/webp", at: 8, bytes: "WEBP" },
];

/** The type of a picture that models take, by its first bytes. */
export function imageType(head: Buffer): string | null {
  const found = SIGNATURES.find(({ at, bytes }) => head.toString("latin1", at, at + bytes.length) === bytes);
  return found?.mimeType ?? null;
}

/** Whether the first bytes already show that this is not text. */
export function looksBinary(head: Buffer): boolean {
  return head.includes(0);
}
