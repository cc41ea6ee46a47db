import { Buffer } from "node:buffer";
import { decodeUtf8 } from "./utf8.js";

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
const COPIED_BELOW = 1024;
const TAIL_BYTES = 16 * 1024;

/**
 * Bytes to lines in linear time whatever the chunking. Only LF ends a line: a CR before it is JSON white space, and
 * U+2028/2029 are ordinary characters. Faulty lines are skipped to their newline.
 */
export function createLineSplitter(options: LineSplitterOptions): LineSplitter {
  const { maxLineBytes, onLines, onFault } = options;
  // A partial line is a list of chunks, joined once. Small ones are first copied together: a peer that writes single
  // bytes would otherwise cost a Buffer object for each of them.
  let chunks: Buffer[] = [];
  let tail = Buffer.alloc(0);
  let tailUsed = 0;
  let kept = 0;
  let skipping = false;

  function keep(bytes: Buffer): void {
    if (skipping || bytes.length === 0) return;
    kept += bytes.length;
    if (kept > maxLineBytes) {
      skipping = true;
      forget();
      onFault("too_long");
    } else if (bytes.length >= COPIED_BELOW) {
      sealTail();
      chunks.push(bytes);
    } else {
      if (tailUsed + bytes.length > tail.length) {
        sealTail();
        tail = Buffer.allocUnsafe(TAIL_BYTES);
      }
      bytes.copy(tail, tailUsed);
      tailUsed += bytes.length;
    }
  }

  function sealTail(): void {
    if (tailUsed === 0) return;
    chunks.push(tail.subarray(0, tailUsed));
    tail = tail.subarray(tailUsed);
    tailUsed = 0;
  }

  function forget(): void {
    chunks = [];
    tailUsed = 0;
    kept = 0;
  }

  function finishPartial(): void {
    const complete = !skipping && kept > 0;
    if (complete && chunks.length > 0) sealTail();
    const line = chunks.length === 0 ? tail.subarray(0, tailUsed) : Buffer.concat(chunks, kept);
    skipping = false;
    forget();
    if (complete) decodeLine(line);
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
      if (kept > 0 || skipping) {
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
