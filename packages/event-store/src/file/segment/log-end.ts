import { join } from "node:path";
import { lineTs } from "../../backend/line.js";
import type { EventBody, LogEntry } from "../../types.js";
import { lastEventTime } from "../event-files.js";
import { type Chain, type ChainSegment, loadChain } from "./chain.js";
import { scanSegment } from "./page.js";
import { createSegmentParser, type SegmentParser } from "./parse.js";

/** The end of a log as a writer or a follower needs it. */
export interface LogEnd {
  readonly chain: Chain;
  readonly lastSeq: number;
  /** The last record's time; empty when there is none. */
  readonly lastTs: string;
  /** Where the next segment continues. */
  readonly prev: { readonly name: string; readonly bytes: number } | null;
}

/** The end of an empty log. */
export const EMPTY_LOG: LogEnd = {
  chain: { files: [], segments: [], fence: 0, hasUnborn: false },
  lastSeq: 0,
  lastTs: "",
  prev: null,
};

/** Finds the end of a log by reading its last segment. A torn tail is reported, and left out of `prev.bytes`. */
export function inspectLog(directory: string, onTornTail?: (where: string) => void): LogEnd {
  const chain = loadChain(directory);
  const { segments, files } = chain;
  const last = segments.at(-1);
  if (last === undefined) {
    return { chain, lastSeq: files.at(-1)?.seq ?? 0, lastTs: lastEventTime(directory, files), prev: null };
  }
  const end = scan(directory, last);
  const { entries, torn } = end.parser.finishLog();
  const prev = { name: last.name, bytes: end.parser.validBytes };
  if (torn) onTornTail?.(`${prev.name}@${prev.bytes}`);
  return {
    chain,
    lastSeq: end.parser.expected - 1,
    lastTs: timeIn(entries) || end.lastTs || timeBefore(directory, chain),
    prev,
  };
}

// --- internal ---

/** The time of the last record in the files before the last segment, for a last segment without records. */
function timeBefore(directory: string, { segments, files }: Chain): string {
  for (const segment of segments.slice(0, -1).reverse()) {
    const { lastTs } = scan(directory, segment);
    if (lastTs !== "") return lastTs;
  }
  return lastEventTime(directory, files);
}

function scan(directory: string, segment: ChainSegment): { parser: SegmentParser<EventBody>; lastTs: string } {
  const parser = createSegmentParser<EventBody>({ first: segment.first, offset: 0 });
  let lastTs = "";
  scanSegment(join(directory, segment.name), parser, segment.limit, (entries) => {
    lastTs = timeIn(entries) || lastTs;
    return false;
  });
  return { parser, lastTs };
}

function timeIn(entries: readonly LogEntry<EventBody>[]): string {
  const last = entries.findLast((entry) => "line" in entry);
  // Copy the text: a slice of the line would keep the whole chunk in memory.
  return last === undefined ? "" : Buffer.from(lineTs(last.line)).toString();
}
