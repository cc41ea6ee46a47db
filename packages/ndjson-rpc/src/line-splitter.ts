import { Buffer, isAscii, isUtf8 } from "node:buffer";

/** Why a line could not be read as text. */
export type LineFault = "too_long" | "invalid_utf8";

export interface LineSplitterOptions {
  readonly maxLineBytes: number;
  /** One line without its LF; blank lines never arrive here. */
  onLine(line: string): void;
  onFault(fault: LineFault): void;
}

export interface LineSplitter {
  push(chunk: Uint8Array): void;
  /** Delivers an unterminated last line. */
  end(): void;
}

const LF = 0x0a;
const KEPT_CAPACITY = 64 * 1024;

/**
 * Bytes to lines in linear time whatever the chunking. Only LF ends a line: a CR before it is JSON white space, and
 * U+2028/2029 are ordinary characters. Faulty lines are skipped to their newline.
 */
export function createLineSplitter(options: LineSplitterOptions): LineSplitter {
  const { maxLineBytes, onLine, onFault } = options;
  // A partial line is copied here rather than kept as a list of chunks: a peer that writes single bytes would
  // otherwise cost a Buffer object for each of them.
  let partial = Buffer.alloc(0);
  let used = 0;
  let skipping = false;

  function keep(bytes: Buffer): void {
    if (skipping || bytes.length === 0) return;
    if (used + bytes.length > maxLineBytes) {
      skipping = true;
      release();
      onFault("too_long");
      return;
    }
    if (used + bytes.length > partial.length) {
      const grown = Buffer.allocUnsafe(Math.max(used + bytes.length, partial.length * 2, 4096));
      partial.copy(grown, 0, 0, used);
      partial = grown;
    }
    bytes.copy(partial, used);
    used += bytes.length;
  }

  function release(): void {
    used = 0;
    if (partial.length > KEPT_CAPACITY) partial = Buffer.alloc(0);
  }

  function finishPartial(): void {
    const line = partial.subarray(0, used);
    const skipped = skipping;
    skipping = false;
    if (!skipped && used > 0) decodeLine(line);
    release();
  }

  /** Complete lines that lie together in one chunk are validated and decoded together: that is the hot path. */
  function decodeLines(block: Buffer): void {
    const text = decode(block);
    if (text === undefined || block.length > maxLineBytes) {
      let start = 0;
      for (let end = block.indexOf(LF); end !== -1; end = block.indexOf(LF, start)) {
        if (end - start > maxLineBytes) onFault("too_long");
        else decodeLine(block.subarray(start, end));
        start = end + 1;
      }
      return;
    }
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      if (end > start) deliver(text.slice(start, end));
      start = end + 1;
    }
  }

  function decodeLine(bytes: Buffer): void {
    const text = decode(bytes);
    if (text === undefined) onFault("invalid_utf8");
    else deliver(text);
  }

  function deliver(line: string): void {
    if (line.charCodeAt(0) <= 0x20 && isBlank(line)) return;
    onLine(line);
  }

  return {
    push(chunk) {
      const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      let start = 0;
      if (used > 0 || skipping) {
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

function decode(bytes: Buffer): string | undefined {
  if (isAscii(bytes)) return bytes.toString("latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}

/** JSON white space only: a line of NBSP or a lone BOM is malformed, not blank. */
function isBlank(line: string): boolean {
  for (let i = 0; i < line.length; i++) {
    const code = line.charCodeAt(i);
    if (code !== 0x20 && code !== 0x09 && code !== 0x0d) return false;
  }
  return true;
}
