import { LIMITS } from "../limits.js";

/**
 * The memory that logs are read through, lent to one read after the other. A fresh chunk for each would live until the next
 * collection: under load hundreds of them do, and the allocator keeps that much for good.
 */
const spare: Buffer[] = [];

export function lendChunk(): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(LIMITS.readBytes);
}

export function takeChunkBack(chunk: Buffer): void {
  if (spare.length < LIMITS.readsInFlight) spare.push(chunk);
}
