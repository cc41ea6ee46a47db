import { closeSync, openSync, readSync } from "node:fs";
import type { Entry, EventBody } from "../types.js";
import type { SegmentParser } from "./parse-segment.js";
import { lendChunk, takeChunkBack } from "./regular-file.js";

/** Reads a segment's first `limit` bytes through a parser, without giving way to others, until `take` says that it has enough. */
export function scanSegment<E extends EventBody>(
  path: string,
  parser: SegmentParser<E>,
  limit: number | null,
  take: (entries: readonly Entry<E>[]) => boolean,
): void {
  const fd = openSync(path, "r");
  const chunk = lendChunk();
  try {
    for (;;) {
      const want = Math.min(chunk.length, (limit ?? Number.POSITIVE_INFINITY) - parser.offset);
      const read = want > 0 ? readSync(fd, chunk, 0, want, parser.offset) : 0;
      if (read === 0 || take(parser.push(chunk.subarray(0, read)))) return;
    }
  } finally {
    takeChunkBack(chunk);
    closeSync(fd);
  }
}
