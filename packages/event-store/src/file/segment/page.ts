import { closeSync, openSync, readSync } from "node:fs";
import { LIMITS } from "../../limits.js";
import type { EventBody, LogEntry } from "../../types.js";
import { lendChunk, takeChunkBack } from "../regular-file.js";
import { createSegmentParser, type ParseStart, type SegmentParser } from "./parse.js";

/** About 64 KiB of a segment's records, read without those before them. */
export interface Page<E extends EventBody> {
  readonly entries: readonly LogEntry<E>[];
  /** Null at the end of the segment. */
  readonly next: ParseStart | null;
}

export interface PagedSegment {
  /** The first number of the next segment; null when this is the last one. */
  readonly next: number | null;
  /** Fills memory with the bytes from an offset. Returns fewer only at the end of the segment. */
  read(memory: Buffer, offset: number): Promise<Buffer>;
}

/**
 * The page at a place, and the pages after it that the same read brought. Pages are built only after the read: objects that live
 * through the wait for the disk become old to the garbage collector, and would make the pages old too.
 */
export async function readPages<E extends EventBody>(
  segment: PagedSegment,
  place: ParseStart,
  memory: Buffer,
): Promise<Page<E>[]> {
  const bytes = await segment.read(memory, place.offset);
  const pages = cutPages<E>(segment, place, bytes, bytes.length < memory.length);
  return pages.length > 0 ? pages : [await readLongPage<E>(segment, place, memory)];
}

/** Reads a segment's first `limit` bytes through a parser, synchronously, until `take` returns true. */
export function scanSegment<E extends EventBody>(
  path: string,
  parser: SegmentParser<E>,
  limit: number | null,
  take: (entries: readonly LogEntry<E>[]) => boolean,
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

// --- internal ---

/** Cuts the bytes at a place into as many pages as they hold. */
function cutPages<E extends EventBody>(
  segment: PagedSegment,
  place: ParseStart,
  bytes: Buffer,
  isEnd: boolean,
): Page<E>[] {
  const pages: Page<E>[] = [];
  for (let at: ParseStart | null = place; at !== null; at = pages[pages.length - 1]!.next) {
    const open: OpenPage<E> = openPage(segment, at);
    for (let page: Page<E> | null = null; page === null; ) {
      const start = open.parser.offset - place.offset;
      const piece = bytes.subarray(start, start + LIMITS.pageBytes);
      if (piece.length < LIMITS.pageBytes && !isEnd) return pages;
      page = takePiece(open, piece);
      if (page !== null) pages.push(page);
    }
  }
  return pages;
}

/** A page that does not fit into the memory: it holds a long record, or many unreadable lines. */
async function readLongPage<E extends EventBody>(
  segment: PagedSegment,
  place: ParseStart,
  memory: Buffer,
): Promise<Page<E>> {
  const open = openPage<E>(segment, place);
  for (;;) {
    const page = takePiece(open, await segment.read(memory, open.parser.offset));
    if (page !== null) return page;
  }
}

interface OpenPage<E extends EventBody> {
  readonly segment: PagedSegment;
  readonly parser: SegmentParser<E>;
  entries: readonly LogEntry<E>[];
}

function openPage<E extends EventBody>(segment: PagedSegment, place: ParseStart): OpenPage<E> {
  return { segment, parser: createSegmentParser<E>(place), entries: [] };
}

/**
 * Continues the page with the next bytes; an empty piece is the end of the segment. A page is complete when it holds a record and no
 * unreadable line after it, so that the next page can be read by itself.
 */
function takePiece<E extends EventBody>(open: OpenPage<E>, piece: Buffer): Page<E> | null {
  const { segment, parser } = open;
  const isEnd = piece.length === 0;
  const rest = (): LogEntry<E>[] =>
    segment.next === null ? parser.finishLog().entries : parser.finishBefore(segment.next);
  const found = isEnd ? rest() : parser.push(piece);
  open.entries = open.entries.length === 0 ? found : open.entries.concat(found);
  if (isEnd) return { entries: open.entries, next: null };
  if (open.entries.length === 0 || !parser.isSound) return null;
  return { entries: open.entries, next: { offset: parser.lineStart, first: parser.expected } };
}
