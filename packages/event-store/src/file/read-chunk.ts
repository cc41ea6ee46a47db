import { LIMITS } from "../limits.js";

/**
 * The memory that logs are read through, lent to one replay after the other. A fresh chunk for each would live until the next
 * collection: under load hundreds of them do, and the allocator keeps that much for good.
 */
const spare: Buffer[] = [];
/** What more replays than a few need at once is let go again. */
const KEPT = 8;

export function lendChunk(): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(LIMITS.readBytes);
}

export function takeChunkBack(chunk: Buffer): void {
  if (spare.length < KEPT) spare.push(chunk);
}
