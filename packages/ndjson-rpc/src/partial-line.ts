import { Buffer } from "node:buffer";

/** The beginning of a line whose newline has not come yet. */
export interface PartialLine {
  /** Bytes added since it was last taken or dropped. */
  readonly size: number;
  add(bytes: Buffer): void;
  /** All of it; to be read before the next `add`. */
  take(): Buffer;
  drop(): void;
}

const COPIED_BELOW = 1024;
const TAIL_BYTES = 16 * 1024;

/**
 * A list of chunks, joined once. Small ones are first copied together: a peer that writes single bytes would otherwise
 * cost a Buffer object for each of them.
 */
export function createPartialLine(): PartialLine {
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
    get size() {
      return size;
    },
    add(bytes) {
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
    take() {
      if (chunks.length > 0) sealTail();
      const line = chunks.length === 0 ? tail.subarray(0, tailUsed) : Buffer.concat(chunks, size);
      drop();
      return line;
    },
    drop,
  };
}
