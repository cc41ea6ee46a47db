import { isAscii } from "node:buffer";
import { claimedSeq, ReplayedEntry, verifiedSeq } from "../../backend/line.js";
import { LIMITS } from "../../limits.js";
import type { EventBody, LogEntry } from "../../types.js";
import { isSoundHeader } from "./header.js";

export type SegmentParser<E extends EventBody> = ReturnType<typeof createSegmentParser<E>>;

/** Where a parser begins. */
export interface ParseStart {
  readonly offset: number;
  /** The number of the record that comes next. */
  readonly first: number;
}

interface Chunk {
  readonly bytes: Buffer;
  /**
   * The whole chunk as one text when it is ASCII, because slicing lines from that costs less than decoding each. Null when it is
   * not ASCII, undefined until the first line is needed.
   */
  text: string | null | undefined;
}

/** The lines since the last record that could not be read as records. */
interface Unreadable {
  lines: number;
  /**
   * The highest number that is still readable in one of them. Each line stands for one record at most, so a number is believed only
   * when there are enough lines to reach it.
   */
  last: number;
  /** Where the line with that number ends. */
  end: number;
}

const LF = 10;
const CR = 13;

/** Turns the bytes of one segment into entries. Unreadable records become a `Lost` once the next number is known. */
export function createSegmentParser<E extends EventBody>({ first, offset: start }: ParseStart) {
  let expected = first;
  let offset = start;
  let validBytes = start;
  let carry: Buffer[] = [];
  let carryBytes = 0;
  /** True while an unfinished line is longer than any record: the parser skips it up to its line break. */
  let overlong = false;
  let unreadable: Unreadable | null = null;

  /** Reports the numbers from `expected` up to `next` as lost. */
  const skipTo = (next: number, entries: LogEntry<E>[]): void => {
    if (next > expected) {
      const reason = unreadable === null ? "missing" : "damaged";
      entries.push({ type: "lost", seq: expected, last: next - 1, reason });
      expected = next;
    }
    unreadable = null;
  };

  const accept = (chunk: Chunk, start: number, end: number, entries: LogEntry<E>[]): boolean => {
    const seq = verifiedSeq(chunk.bytes, start, end);
    if (seq < expected) return false;
    if (seq > expected || unreadable !== null) skipTo(seq, entries);
    expected = seq + 1;
    entries.push(new ReplayedEntry<E>(seq, textOf(chunk, start, end)));
    return true;
  };

  const passOver = (): Unreadable => {
    unreadable ??= { lines: 0, last: expected - 1, end: validBytes };
    unreadable.lines++;
    return unreadable;
  };

  /** Takes one line. `at` is its offset in the file. An editor may have ended it with CR LF. */
  const take = (chunk: Chunk, start: number, lineEnd: number, at: number, entries: LogEntry<E>[]): void => {
    const { bytes } = chunk;
    const after = at + (lineEnd - start) + 1;
    const end = bytes[lineEnd - 1] === CR ? lineEnd - 1 : lineEnd;
    if (accept(chunk, start, end, entries) || (at === 0 && isSoundHeader(bytes.toString("utf8", start, end)))) {
      validBytes = after;
      return;
    }
    const passed = passOver();
    const seq = claimedSeq(bytes, start, end);
    if (seq <= passed.last || seq >= expected + passed.lines) return;
    passed.last = seq;
    passed.end = after;
  };

  const dropCarried = (): void => {
    carry = [];
    carryBytes = 0;
  };

  const takeCarried = (): Chunk => {
    const bytes = carry.length === 1 ? carry[0]! : Buffer.concat(carry, carryBytes);
    dropCarried();
    return { bytes, text: null };
  };

  const keep = (rest: Buffer): void => {
    if (overlong) return;
    // Copy: the caller reads its next chunk into the same memory.
    carry.push(Buffer.from(rest));
    carryBytes += rest.length;
    if (carryBytes <= LIMITS.recordBytes * 4) return;
    overlong = true;
    passOver();
    dropCarried();
  };

  return {
    /** The number the next record must have. */
    get expected() {
      return expected;
    },
    /** The offset after the last record, or after a damaged one whose number is still readable. */
    get validBytes() {
      return validBytes;
    },
    /** The offset after all bytes taken, including those of an unfinished line. */
    get offset() {
      return offset;
    },
    /** The offset of the unfinished line. */
    get lineStart() {
      return offset - carryBytes;
    },
    /** False after unreadable lines, until the next record. */
    get isSound() {
      return unreadable === null;
    },
    push(bytes: Buffer) {
      const entries: LogEntry<E>[] = [];
      const base = offset;
      offset += bytes.length;
      const chunk: Chunk = { bytes, text: undefined };
      let start = 0;
      for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, start)) {
        if (overlong) overlong = false;
        else if (carryBytes > 0) {
          const at = base - carryBytes;
          carry.push(bytes.subarray(0, end));
          carryBytes += end;
          const line = takeCarried();
          take(line, 0, line.bytes.length, at, entries);
        } else take(chunk, start, end, base + start, entries);
        start = end + 1;
      }
      if (start < bytes.length) keep(bytes.subarray(start));
      return entries;
    },
    /** Ends the segment where the next one starts with `next`: every missing number below that is lost. */
    finishBefore(next: number) {
      const entries: LogEntry<E>[] = [];
      const at = offset - carryBytes;
      if (carryBytes > 0) {
        const line = takeCarried();
        take(line, 0, line.bytes.length, at, entries);
      }
      skipTo(next, entries);
      return entries;
    },
    /** Ends the log. Returns a last record without its line break, if there is one; `torn` is true when other bytes are left over. */
    finishLog() {
      const entries: LogEntry<E>[] = [];
      if (carryBytes > 0) {
        const line = takeCarried();
        if (accept(line, 0, line.bytes.length, entries)) validBytes = offset;
      }
      // A whole line whose number is still readable may have been acknowledged: its number is not given out again.
      if (unreadable !== null && unreadable.last >= expected) {
        validBytes = unreadable.end;
        skipTo(unreadable.last + 1, entries);
      }
      unreadable = null;
      return { entries, torn: offset > validBytes };
    },
  };
}

// --- internal ---

function textOf(chunk: Chunk, start: number, end: number): string {
  const { bytes } = chunk;
  if (chunk.text === undefined) chunk.text = isAscii(bytes) ? bytes.toString("latin1") : null;
  return chunk.text === null ? bytes.toString("utf8", start, end) : chunk.text.slice(start, end);
}
