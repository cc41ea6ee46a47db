import { join } from "node:path";
import { addCounts, type Counts, countType, createCounts } from "../record/counts.js";
import { lineTs } from "../record/line.js";
import type { Damage, Entry, EventBody } from "../types.js";
import { type Chain, type ChainSegment, loadChain } from "./chain.js";
import { readEventFiles } from "./event-files.js";
import { createSegmentParser, type SegmentParser } from "./parse-segment.js";
import { scanSegment } from "./scan-segment.js";

/** The end of a log as a writer or a follower needs it. */
export interface LogEnd {
  readonly chain: Chain;
  readonly lastSeq: number;
  /** The last record's time; empty when there is none. */
  readonly lastTs: string;
  readonly counts: Counts;
  /** Where the next segment continues. */
  readonly prev: { readonly name: string; readonly bytes: number } | null;
}

/** The end of a log that nobody has written to. */
export const EMPTY_LOG: LogEnd = {
  chain: { files: [], segments: [], fence: 0, hasUnborn: false, damage: [] },
  lastSeq: 0,
  lastTs: "",
  counts: createCounts(),
  prev: null,
};

/** Finds the end of a log by reading its last segment. A torn tail is reported, and left out of `prev.bytes`. */
export function inspectLog(directory: string, onDamage?: (damage: Damage) => void): LogEnd {
  const chain = loadChain(directory);
  const { segments, files } = chain;
  let lastTs = "";
  // Counting starts at the last segment whose header survived, nearly always the last one.
  const start = segments.findLastIndex((segment) => segment.header !== null);
  const counts = createCounts(segments[start]?.header?.counts);
  const note = (entry: Entry<EventBody>): void => {
    countType(counts, entry.type);
    lastTs = lineTs(entry.line);
  };
  if (start < 0) for (const item of readEventFiles(directory, files, EVERYTHING)) if ("line" in item) note(item);
  const lose = ({ types }: Damage): void => addCounts(counts, types);
  const last = segments[segments.length - 1];
  if (last === undefined) return { chain, lastSeq: files[files.length - 1]?.seq ?? 0, lastTs, counts, prev: null };

  for (let i = Math.max(0, start); i < segments.length - 1; i++) {
    const parser = scan(directory, segments[i]!, lose, note);
    for (const entry of parser.finishBefore(segments[i + 1]!.first)) note(entry);
  }
  const report = (damage: Damage): void => {
    lose(damage);
    onDamage?.(damage);
  };
  const parser = scan(directory, last, report, note);
  const { entries, torn } = parser.finishLog();
  for (const entry of entries) note(entry);
  const prev = { name: last.name, bytes: parser.validBytes };
  if (torn) {
    const where = `${prev.name}@${prev.bytes}`;
    onDamage?.({ seq: null, last: null, where, reason: "the log ended in a torn record" });
  }
  return {
    chain,
    lastSeq: parser.expected - 1,
    lastTs: lastTs || timeBefore(directory, segments[start - 1]),
    counts,
    prev,
  };
}

// --- internal ---

const EVERYTHING = { from: 0, to: Number.MAX_SAFE_INTEGER };

/** The time of the last record before a segment that holds none. */
function timeBefore(directory: string, segment: ChainSegment | undefined): string {
  let ts = "";
  if (segment !== undefined) {
    scan(directory, segment, undefined, (entry) => {
      ts = lineTs(entry.line);
    });
  }
  return ts;
}

function scan(
  directory: string,
  segment: ChainSegment,
  onDamage: ((damage: Damage) => void) | undefined,
  note: (entry: Entry<EventBody>) => void,
): SegmentParser<EventBody> {
  const parser = createSegmentParser<EventBody>({ name: segment.name, first: segment.first, onDamage });
  scanSegment(join(directory, segment.name), parser, segment.limit, (entries) => {
    entries.forEach(note);
    return false;
  });
  return parser;
}
