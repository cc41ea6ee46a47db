import { LIMITS } from "../limits.js";

/**
 * The memory that logs are read through, lent to one replay after the other. A fresh chunk for each would live until the next
 * collection: under load hundreds of them do, and the allocator keeps that much for good.
 */
const spare: Buffer[] = [];
/** What more replays than a few need at once is let go again. */
const KEPT = 8;
let lent = 0;

export function lendChunk(): Buffer {
  lent++;
  return spare.pop() ?? Buffer.allocUnsafeSlow(LIMITS.readBytes);
}

/** One to read through, and while few replays run a second one to read ahead into: hundreds at once would double their memory. */
export function lendChunks(): Buffer[] {
  return lent + 2 <= KEPT ? [lendChunk(), lendChunk()] : [lendChunk()];
}

export function takeChunkBack(chunk: Buffer): void {
  lent--;
  if (spare.length < KEPT) spare.push(chunk);
}
