/** Reads bytes into lines and lines into frames, in linear time whatever the chunking. */
import { Buffer, constants, isAscii, isUtf8, transcode } from "node:buffer";
import { type Frame, type InvalidFrame, mayHoldProtoKey, parseError, readFrame } from "./frame.js";

/** The text of one line, or the error to send when the line cannot be read as text. */
export type Line = string | InvalidFrame;

export interface LineSplitter {
  push(chunk: Uint8Array): void;
  /** Delivers an unterminated last line. */
  end(): void;
}

/**
 * Parses a line into a frame.
 *
 * @example
 * const frame = frameOf('{"jsonrpc":"2.0","id":1,"method":"ping"}', 64);
 * frame.kind; // "request"
 */
export function frameOf(line: Line, maxDepth: number): Frame {
  return typeof line === "string" ? readFrame(line, maxDepth, mayHoldProtoKey(line)) : line;
}

/** Takes bytes and calls `onLine` once for each line that is not blank. */
export function createLineReader(onLine: (line: Line) => void, limit: number): LineSplitter {
  const maxLineBytes = Math.min(limit, constants.MAX_STRING_LENGTH);

  function readLines(text: string): void {
    for (let start = 0; start < text.length; ) {
      const newline = text.indexOf("\n", start);
      const end = newline === -1 ? text.length : newline;
      if (!isBlank(text, start, end)) onLine(text.slice(start, end));
      start = end + 1;
    }
  }

  return createLineSplitter({
    maxLineBytes,
    onLines: readLines,
    onFault: (fault) =>
      onLine(
        parseError(
          fault === "too_long"
            ? `Parse error: the line is longer than ${maxLineBytes} bytes`
            : "Parse error: the line is not valid UTF-8",
        ),
      ),
  });
}

// --- internal ---

/** Whether there is only JSON white space. A line of NBSP or a lone BOM is malformed, not blank. */
function isBlank(text: string, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code !== 0x20 && code !== 0x09 && code !== 0x0d) return false;
  }
  return true;
}

/** Why a line could not be read as text. */
type LineFault = "too_long" | "invalid_utf8";

const LF = 0x0a;

/**
 * Splits bytes into lines, in linear time whatever the chunking. Only LF ends a line: a CR before it is JSON white space, and
 * U+2028/2029 are ordinary characters. A faulty line is skipped to its newline.
 */
function createLineSplitter(options: {
  readonly maxLineBytes: number;
  /** Receives one whole line, or several with an LF between them; the last may end with one too. */
  onLines(text: string): void;
  onFault(fault: LineFault): void;
}): LineSplitter {
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

  /** Validates and decodes all complete lines of one chunk together, because this is the hot path. */
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

const TRANSCODED_FROM = 4096;

/** The text of UTF-8 bytes, or undefined when they are not valid UTF-8. */
function decodeUtf8(bytes: Buffer): string | undefined {
  if (isAscii(bytes)) return bytes.toString("latin1");
  if (!isUtf8(bytes)) return undefined;
  // Decoding a long text through UTF-16 is two to eight times as fast.
  return bytes.length < TRANSCODED_FROM
    ? bytes.toString("utf8")
    : transcode(bytes, "utf8", "utf16le").toString("utf16le");
}

const COPIED_BELOW = 1024;
const TAIL_BYTES = 16 * 1024;

/**
 * Holds the beginning of a line whose newline has not arrived yet, as chunks that are joined once. Small chunks are first copied into one
 * buffer; otherwise single bytes would cost a Buffer each.
 */
function createPartialLine() {
  let chunks: Buffer[] = [];
  let tail = Buffer.alloc(0);
  let tailUsed = 0;
  let size = 0;

  function sealTail(): void {
    if (tailUsed === 0) return;
    chunks.push(tail.subarray(0, tailUsed));
    tail = tail.subarray(tailUsed);
    tailUsed = 0;
  }

  function drop(): void {
    chunks = [];
    tailUsed = 0;
    size = 0;
  }

  return {
    /** How many bytes were added since the last `take` or `drop`. */
    get size() {
      return size;
    },
    add(bytes: Buffer) {
      size += bytes.length;
      if (bytes.length >= COPIED_BELOW) {
        sealTail();
        chunks.push(bytes);
        return;
      }
      if (tailUsed + bytes.length > tail.length) {
        sealTail();
        tail = Buffer.allocUnsafe(TAIL_BYTES);
      }
      bytes.copy(tail, tailUsed);
      tailUsed += bytes.length;
    },
    /** Returns all the bytes and starts again. The caller must read them before the next `add`. */
    take() {
      if (chunks.length > 0) sealTail();
      const line = chunks.length === 0 ? tail.subarray(0, tailUsed) : Buffer.concat(chunks, size);
      drop();
      return line;
    },
    drop,
  };
}
