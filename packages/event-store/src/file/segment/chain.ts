import { closeSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "../../errors.js";
import { LIMITS } from "../../limits.js";
import type { EventBody, LogEntry } from "../../types.js";
import { type EventFile, listEventFiles } from "../event-files.js";
import { openRegular } from "../regular-file.js";
import { parseHeader, type SegmentHeader, segmentFirst } from "./header.js";
import { scanSegment } from "./page.js";
import { createSegmentParser } from "./parse.js";

/** One segment that belongs to the log. */
export interface ChainSegment {
  readonly name: string;
  readonly first: number;
  /** Null when it was damaged. */
  readonly header: SegmentHeader | null;
  /** How many of its bytes are valid, by the header of the next segment; null for the last one, where all are. */
  readonly limit: number | null;
}

/** The files of a session that make up its log, in order. */
export interface Chain {
  /** Records in the one-file-per-event layout, which come before every segment. */
  readonly files: readonly EventFile[];
  readonly segments: readonly ChainSegment[];
  /** The highest fencing token seen, on or off the chain. */
  readonly fence: number;
  /** True when a segment has been created and has no content yet. */
  readonly hasUnborn: boolean;
}

interface Candidate {
  readonly name: string;
  readonly first: number;
  readonly header: SegmentHeader | null;
}

/**
 * Finds the log among a directory's segments. The log ends in the newest writer's last segment, and each header names the
 * segment before it. A segment that no header names, such as one that a superseded writer started, is not part of the log.
 */
export function loadChain(directory: string): Chain {
  const names = readdirSync(directory);
  const found = names.filter((name) => (segmentFirst(name) ?? 0) > 0);
  if (found.length > LIMITS.segments) {
    throw new StoreError(
      "unsupported_format",
      `${found.length} segments are more than the limit of ${LIMITS.segments}`,
    );
  }
  const candidates: Candidate[] = [];
  let hasUnborn = false;
  for (const name of found) {
    const first = segmentFirst(name)!;
    const path = join(directory, name);
    const header = readHeader(path);
    if (header === "unborn") {
      hasUnborn = true;
      continue;
    }
    // With a damaged header, trust the number in the name only when the segment holds a record.
    if (header === null && !holdsRecord(path, first)) continue;
    candidates.push({ name, first, header });
  }
  candidates.sort((a, b) => a.first - b.first || fenceOf(a) - fenceOf(b));
  const fence = candidates.reduce((top, candidate) => Math.max(top, fenceOf(candidate)), 0);
  const segments = link(candidates, fence);
  const begin = segments[0]?.first ?? Number.POSITIVE_INFINITY;
  return {
    files: listEventFiles(names).filter((file) => file.seq < begin),
    segments,
    fence,
    hasUnborn,
  };
}

// --- internal ---

/** Read sizes. Most headers are short; one of version 0.1 with very many types is not, nor is one of a session with many directories. */
const HEADER_BYTES = [2048, 64 * 1024];

function fenceOf(candidate: Candidate): number {
  return candidate.header?.fence ?? 0;
}

/** True when `b` was started by a later writer than `a`, or by the same writer after a failed sync. */
function isOlder(a: Candidate, b: Candidate): boolean {
  const byFence = fenceOf(a) - fenceOf(b);
  return byFence === 0 ? (a.header?.rewrites ?? 0) < (b.header?.rewrites ?? 0) : byFence < 0;
}

/** Walks back from the end of the log. */
function link(candidates: readonly Candidate[], highest: number): ChainSegment[] {
  const byName = new Map(candidates.map((candidate) => [candidate.name, candidate]));
  const before = (first: number, fence: number): Candidate | undefined =>
    candidates.findLast((candidate) => candidate.first < first && fenceOf(candidate) <= fence);

  let end: Candidate | undefined;
  for (const candidate of candidates) {
    // A damaged header has no age: its segment is the end only if it starts after every other one.
    if (candidate.header === null || end === undefined || !isOlder(candidate, end)) end = candidate;
  }
  const chain: ChainSegment[] = [];
  const seen = new Set<string>();
  let limit: number | null = null;
  let fence = highest;
  for (let at = end; at !== undefined && !seen.has(at.name); ) {
    seen.add(at.name);
    chain.push({ name: at.name, first: at.first, header: at.header, limit });
    fence = at.header?.fence ?? fence;
    const prev: SegmentHeader["prev"] | undefined = at.header?.prev;
    const named = prev == null ? undefined : byName.get(prev.name);
    limit = named === undefined ? null : (prev?.bytes ?? null);
    // When the named segment is gone, or a damaged header names none, continue with the nearest one before.
    at = prev === null ? undefined : named !== undefined && named.first <= at.first ? named : before(at.first, fence);
  }
  return chain.reverse();
}

function holdsRecord(path: string, first: number): boolean {
  const parser = createSegmentParser({ first, offset: 0 });
  const isRecord = (entry: LogEntry<EventBody>): boolean => "line" in entry;
  let found = false;
  scanSegment(path, parser, null, (entries) => {
    found = entries.some(isRecord);
    return found;
  });
  return found || parser.finishLog().entries.some(isRecord);
}

/** `unborn` when the file is empty, or is not a regular file: the segment does not exist yet. */
function readHeader(path: string): SegmentHeader | null | "unborn" {
  const file = openRegular(path);
  if (file === null) return "unborn";
  try {
    if (file.size === 0) return "unborn";
    for (const want of HEADER_BYTES) {
      const bytes = Buffer.allocUnsafe(want);
      const end = bytes.subarray(0, readSync(file.fd, bytes, 0, want, 0)).indexOf(10);
      if (end >= 0) return parseHeader(bytes.toString("utf8", 0, bytes[end - 1] === 13 ? end - 1 : end));
    }
    return null;
  } finally {
    closeSync(file.fd);
  }
}
