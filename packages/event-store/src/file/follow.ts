import { closeSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Watcher } from "../backend/backend.js";
import { LIMITS } from "../limits.js";
import type { Entry, EventBody, LogEntry } from "../types.js";
import { createDirectoryView } from "./directory-view.js";
import { type Chain, type ChainSegment, loadChain } from "./segment/chain.js";
import { inspectLog } from "./segment/log-end.js";
import { createSegmentParser, type SegmentParser } from "./segment/parse.js";

/** About 8 MiB of a log that grew between two looks; the rest waits for the next look, so that other logs get their turn. */
const POLLS_PER_LOOK = 8;
/** The pause between two looks is at least this many times as long as the last look took. */
const PACE = 4;

/** Follows logs that other processes write, all with one timer. The returned function starts following a log and returns how to stop. */
export function createFollowing<E extends EventBody>(): (directory: string, watcher: Watcher<E>) => () => void {
  const followed = new Map<Tail<E>, Watcher<E>>();
  let timer: NodeJS.Timeout | null = null;

  const look = (): void => {
    const started = performance.now();
    timer = null;
    for (const [tail, watcher] of [...followed]) {
      try {
        for (let round = 0; round < POLLS_PER_LOOK && followed.has(tail); round++) {
          const found = tail.poll();
          if (found.length === 0) break;
          watcher.publish(found);
        }
      } catch (error) {
        // A deleted session ends its readers; any other error, such as a lack of descriptors, may pass.
        if ((error as NodeJS.ErrnoException).code === "ENOENT") watcher.end();
      }
    }
    // Slow directories get longer pauses, so that looking never takes all of the time.
    if (followed.size > 0) lookAfter(Math.max(LIMITS.followMs, PACE * (performance.now() - started)));
  };
  const lookAfter = (ms: number): void => {
    timer ??= setTimeout(look, ms);
  };

  return (directory, watcher) => {
    const tail = openTail<E>(directory);
    followed.set(tail, watcher);
    lookAfter(LIMITS.followMs);
    watcher.advance(tail.lastSeq);
    return () => {
      followed.delete(tail);
      if (followed.size > 0 || timer === null) return;
      clearTimeout(timer);
      timer = null;
    };
  };
}

// --- internal ---

/** The moving end of a log that another process writes. */
type Tail<E extends EventBody> = ReturnType<typeof openTail<E>>;

function openTail<E extends EventBody>(directory: string) {
  const end = inspectLog(directory);
  let lastSeq = end.lastSeq;
  let chain: Chain = end.chain;
  const currentChain = createDirectoryView(
    directory,
    () => loadChain(directory),
    (found) => found.hasUnborn,
  );
  let segment: ChainSegment | undefined = chain.segments[chain.segments.length - 1];
  let parser: SegmentParser<E> | null =
    segment === undefined ? null : createSegmentParser<E>({ first: end.lastSeq + 1, offset: end.prev!.bytes });

  const next = (): ChainSegment | undefined => {
    if (segment === undefined) return chain.segments[0];
    const at = chain.segments.findIndex((one) => one.name === segment!.name);
    // The writer has replaced a segment that left the chain: continue with the one that holds the next number.
    if (at < 0) return chain.segments.findLast((one) => one.first <= lastSeq + 1);
    segment = chain.segments[at];
    return chain.segments[at + 1];
  };

  /** Returns false when there was nothing to take. Lost records leave a gap in the numbers, and readers then fetch from the log. */
  const take = (entries: LogEntry<E>[] | null, out: Entry<E>[]): boolean => {
    for (const entry of entries ?? []) {
      if ("last" in entry || entry.seq <= lastSeq) continue;
      lastSeq = entry.seq;
      out.push(entry);
    }
    return entries !== null;
  };

  return {
    get lastSeq() {
      return lastSeq;
    },
    /** The entries written since the last look, at most about 1 MiB of them. Throws ENOENT when the session was deleted. */
    poll() {
      const found: Entry<E>[] = [];
      chain = currentChain();
      for (;;) {
        const following = next();
        if (segment !== undefined && parser !== null) {
          while (take(readOn(directory, segment, parser), found)) if (found.length > 0) return found;
          if (following === undefined) return found;
          take(parser.finishBefore(following.first), found);
        }
        if (following === undefined) return found;
        segment = following;
        parser = createSegmentParser<E>({ first: following.first, offset: 0 });
      }
    },
  };
}

/** Reads the lines that were added to a segment: at most about 1 MiB, or one longer line. Null when there is no whole line. */
function readOn<E extends EventBody>(
  directory: string,
  segment: ChainSegment,
  parser: SegmentParser<E>,
): LogEntry<E>[] | null {
  const path = join(directory, segment.name);
  const size = (segment.limit ?? statSync(path).size) - parser.offset;
  if (size <= 0) return null;
  const fd = openSync(path, "r");
  try {
    for (const most of [LIMITS.windowBytesPerSession, LIMITS.recordBytes + 1]) {
      const chunk = Buffer.allocUnsafe(Math.min(size, most));
      const read = chunk.subarray(0, readSync(fd, chunk, 0, chunk.length, parser.offset));
      const whole = read.lastIndexOf(10) + 1;
      // Leave an unfinished line for the next look, because its writer may still cut it off. Take one that is too long for a
      // record in pieces, since otherwise every look would read all of it again.
      const isDue = segment.limit !== null || read.length > LIMITS.recordBytes;
      const end = whole === 0 && isDue ? read.length : whole;
      if (end > 0) return parser.push(read.subarray(0, end));
    }
    return null;
  } finally {
    closeSync(fd);
  }
}
