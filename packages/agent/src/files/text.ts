/** What bytes are: text that can be edited and written back unchanged, a picture, or something else. */
import { AgentError } from "../errors.js";
import type { ToolImage } from "../tool.js";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Keeps a byte order mark; refuses what would not survive being written back. */
export function decodeText(bytes: Uint8Array, path: string): string {
  if (bytes.includes(0)) throw new AgentError("not_text", `${path} is a binary file.`);
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new AgentError("not_text", `${path} is not valid UTF-8 text.`, { cause });
  }
}

const SIGNATURES: readonly { readonly mimeType: ToolImage["mimeType"]; readonly at: number; readonly bytes: string }[] =
  [
    { mimeType: "image/png", at: 0, bytes: "\x89PNG\r\n\x1a\n" },
    { mimeType: "image/jpeg", at: 0, bytes: "\xff\xd8\xff" },
    { mimeType: "image/gif", at: 0, bytes: "GIF8" },
    { mimeType: "image/webp", at: 8, bytes: "WEBP" },
  ];

/** The type of a picture that models take, by its first bytes. */
export function imageType(head: Buffer): ToolImage["mimeType"] | null {
  const found = SIGNATURES.find(({ at, bytes }) => head.toString("latin1", at, at + bytes.length) === bytes);
  return found?.mimeType ?? null;
}

/** Whether the first bytes already show that this is not text. */
export function looksBinary(head: Buffer): boolean {
  return head.includes(0);
}
