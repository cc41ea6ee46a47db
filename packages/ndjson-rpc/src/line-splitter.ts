import { Buffer, isAscii, isUtf8, transcode } from "node:buffer";
import { createPartialLine } from "./partial-line.js";

/** Why a line could not be read as text. */
export type LineFault = "too_long" | "invalid_utf8";

export interface LineSplitterOptions {
  readonly maxLineBytes: number;
  /** One whole line, or several with an LF between them; the last may have one too. */
  onLines(text: string): void;
  onFault(fault: LineFault): void;
}

export interface LineSplitter {
  push(chunk: Uint8Array): void;
  /** Delivers an unterminated last line. */
  end(): void;
}

const LF = 0x0a;

/**
 * Bytes to lines in linear time whatever the chunking. Only LF ends a line: a CR before it is JSON white space, and
 * U+2028/2029 are ordinary characters. Faulty lines are skipped to their newline.
 */
export function createLineSplitter(options: LineSplitterOptions): LineSplitter {
  const { maxLineBytes, onLines, onFault } = options;
  const partial = createPartialLine();
  let skipping = false;

  function keep(bytes: Buffer): void {
    if (skipping || bytes.length === 0) return;
    if (partial.size + bytes.length > maxLineBytes) {
      skipping = true;
      partial.drop();
      onFault("too_long");
    } else partial.add(bytes);
  }

  function finishPartial(): void {
    skipping = false;
    if (partial.size > 0) decodeLine(partial.take());
  }

  /** Complete lines that lie together in one chunk are validated and decoded together: that is the hot path. */
  function decodeLines(block: Buffer): void {
    const text = block.length > maxLineBytes ? undefined : decodeUtf8(block);
    if (text === undefined) decodeOneByOne(block);
    else onLines(text);
  }

  function decodeOneByOne(block: Buffer): void {
    let start = 0;
    for (let end = block.indexOf(LF); end !== -1; end = block.indexOf(LF, start)) {
      if (end - start > maxLineBytes) onFault("too_long");
      else decodeLine(block.subarray(start, end));
      start = end + 1;
    }
  }

  function decodeLine(bytes: Buffer): void {
    const text = decodeUtf8(bytes);
    if (text === undefined) onFault("invalid_utf8");
    else onLines(text);
  }

  return {
    push(chunk) {
      const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      let start = 0;
      if (partial.size > 0 || skipping) {
        const end = bytes.indexOf(LF);
        if (end === -1) return keep(bytes);
        keep(bytes.subarray(0, end));
        finishPartial();
        start = end + 1;
      }
      const last = bytes.lastIndexOf(LF);
      if (last >= start) {
        decodeLines(bytes.subarray(start, last + 1));
        start = last + 1;
      }
      keep(bytes.subarray(start));
    },
    end: finishPartial,
  };
}

// --- internal ---

const TRANSCODED_FROM = 4096;

/** The text of UTF-8 bytes, or undefined when they are not valid UTF-8. */
function decodeUtf8(bytes: Buffer): string | undefined {
  if (isAscii(bytes)) return bytes.toString("latin1");
  if (!isUtf8(bytes)) return undefined;
  // Through UTF-16 long texts are decoded two to eight times as fast.
  return bytes.length < TRANSCODED_FROM
    ? bytes.toString("utf8")
    : transcode(bytes, "utf8", "utf16le").toString("utf16le");
}
