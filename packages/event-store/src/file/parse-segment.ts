import { isAscii } from "node:buffer";
import { LIMITS } from "../limits.js";
import { ReplayedEntry } from "../record/entry.js";
import { verifiedSeq } from "../record/line.js";
import type { Damage, Entry, EventBody } from "../types.js";
import { isSoundHeader } from "./segment.js";

/** Turns the bytes of one segment into entries, and what is not a record into reports. */
export interface SegmentParser<E extends EventBody> {
  /** The number the next record must have. */
  readonly expected: number;
  /** Bytes up to the end of the last record, or of a damaged one whose place is kept. */
  readonly validBytes: number;
  /** Bytes taken so far, an unfinished line included. */
  readonly offset: number;
  push(bytes: Buffer): Entry<E>[];
  /** The segment ends here and the next one starts with `next`: every number that did not come is damaged. */
  finishBefore(next: number): Entry<E>[];
  /** The log ends here. Returns a last record without its line break; `torn` tells whether anything else was left over. */
  finishLog(): { entries: Entry<E>[]; torn: boolean };
}

export interface SegmentParserOptions {
  readonly name: string;
  /** The number of the first record to come. */
  readonly first: number;
  /** Where in the file the first chunk starts. @defaultValue 0 */
  readonly offset?: number;
  readonly onDamage?: ((damage: Damage) => void) | undefined;
}

interface Chunk {
  readonly bytes: Buffer;
  /**
   * All of it as one text when each byte is a character: cutting lines from that costs less than decoding each. Null when it is not
   * so, undefined until the first line is wanted.
   */
  text: string | null | undefined;
}

interface BadLine {
  readonly at: number;
  readonly end: number;
  readonly head: string;
  readonly endsRecord: boolean;
}

const LF = 10;
/** Enough of a line to see which record it was. */
const HEAD_BYTES = 48;
const RECORD_START = '{"seq":';
const RECORD_END = 'Z"}';
/** How often the bytes of one unreadable line are gone through in search of records, at most. */
const SALVAGE_PASSES = 8;

export function createSegmentParser<E extends EventBody>(options: SegmentParserOptions): SegmentParser<E> {
  const { name, onDamage } = options;
  let expected = options.first;
  let offset = options.offset ?? 0;
  let validBytes = offset;
  let carry: Buffer[] = [];
  let carryBytes = 0;
  /** Set while an unfinished line is longer than any record: it is passed over up to its line break. */
  let overlong = false;
  /** Unreadable lines since the last record. */
  let bad: BadLine[] = [];

  /** Reports the numbers from `expected` up to `next`, or unreadable bytes that stand for no number. */
  const settleBad = (next: number, at: number): void => {
    const where = `${name}@${bad[0]?.at ?? at}`;
    if (next > expected) onDamage?.({ seq: expected, last: next - 1, where, reason: "damaged" });
    else if (bad.length > 0) onDamage?.({ seq: null, last: null, where, reason: "unreadable bytes between records" });
    bad = [];
    expected = next;
  };

  const accept = (chunk: Chunk, start: number, end: number, at: number, entries: Entry<E>[]): boolean => {
    const seq = verifiedSeq(chunk.bytes, start, end);
    if (seq < expected) return false;
    if (seq > expected || bad.length > 0) settleBad(seq, at);
    expected = seq + 1;
    entries.push(new ReplayedEntry<E>(seq, textOf(chunk, start, end)));
    return true;
  };

  /** Takes one line. `at` is its place in the file. */
  const take = (chunk: Chunk, start: number, end: number, at: number, entries: Entry<E>[]): void => {
    const { bytes } = chunk;
    if (accept(chunk, start, end, at, entries)) {
      validBytes = at + (end - start) + 1;
      return;
    }
    if (at === 0 && isSoundHeader(bytes.toString("utf8", start, end))) {
      validBytes = end - start + 1;
      return;
    }
    if (salvage(chunk, start, end, at, entries) > 0) {
      validBytes = at + (end - start) + 1;
      return;
    }
    bad.push({
      at,
      end: at + (end - start) + 1,
      head: bytes.toString("latin1", start, Math.min(end, start + HEAD_BYTES)),
      endsRecord: bytes.toString("latin1", Math.max(start, end - RECORD_END.length), end) === RECORD_END,
    });
  };

  /**
   * A damaged line break glues a record to the next one, or leaves a byte behind the last one: finds the whole ones inside,
   * and returns how far they reach.
   */
  const salvage = (chunk: Chunk, start: number, end: number, at: number, entries: Entry<E>[]): number => {
    const starts = recordStarts(chunk.bytes, start, end);
    const ends = [...starts.slice(1).map((next) => next - 1), end, end - 1];
    let reach = 0;
    let budget = SALVAGE_PASSES * (end - start);
    for (const from of starts) {
      if (from - start < reach) continue;
      for (const to of ends) {
        if (to <= from || budget < 0) continue;
        budget -= to - from;
        if (!accept(chunk, from, to, at + (from - start), entries)) continue;
        reach = to - start;
        break;
      }
    }
    return reach;
  };

  const takeCarried = (): Chunk => {
    const bytes = carry.length === 1 ? carry[0]! : Buffer.concat(carry, carryBytes);
    carry = [];
    carryBytes = 0;
    return { bytes, text: null };
  };

  const keep = (rest: Buffer): void => {
    if (overlong) return;
    // A copy: the caller reads its next chunk into the same memory.
    carry.push(Buffer.from(rest));
    carryBytes += rest.length;
    if (carryBytes <= LIMITS.recordBytes * 4) return;
    overlong = true;
    bad.push({ at: offset - carryBytes, end: offset, head: "", endsRecord: false });
    takeCarried();
  };

  return {
    get expected() {
      return expected;
    },
    get validBytes() {
      return validBytes;
    },
    get offset() {
      return offset;
    },
    push(bytes) {
      const entries: Entry<E>[] = [];
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
    finishBefore(next) {
      const entries: Entry<E>[] = [];
      const at = offset - carryBytes;
      if (carryBytes > 0) {
        const line = takeCarried();
        take(line, 0, line.bytes.length, at, entries);
      }
      if (expected < next || bad.length > 0) settleBad(Math.max(next, expected), at);
      return entries;
    },
    finishLog() {
      const entries: Entry<E>[] = [];
      let torn = false;
      if (carryBytes > 0) {
        const at = offset - carryBytes;
        const line = takeCarried();
        if (accept(line, 0, line.bytes.length, at, entries)) validBytes = offset;
        else {
          torn = true;
          const reach = salvage(line, 0, line.bytes.length, at, entries);
          if (reach > 0) validBytes = at + reach;
        }
      }
      // A damaged line that is the next record was acknowledged once: its number is not given out again.
      const kept = keptPlaces(bad, expected);
      if (kept.lines < bad.length) torn = true;
      if (kept.count > 0) {
        validBytes = bad[kept.lines - 1]!.end;
        settleBad(expected + kept.count, offset);
      }
      bad = [];
      return { entries, torn };
    },
  };
}

// --- internal ---

function textOf(chunk: Chunk, start: number, end: number): string {
  const { bytes } = chunk;
  if (chunk.text === undefined) chunk.text = isAscii(bytes) ? bytes.toString("latin1") : null;
  return chunk.text === null ? bytes.toString("utf8", start, end) : chunk.text.slice(start, end);
}

/** At most 64 places where a record may start inside a line. */
function recordStarts(bytes: Buffer, start: number, end: number): number[] {
  const starts: number[] = [];
  let at = bytes.indexOf(RECORD_START, start);
  while (at >= 0 && at < end && starts.length < 64) {
    starts.push(at);
    at = bytes.indexOf(RECORD_START, at + 1);
  }
  return starts;
}

/** How many numbers the unreadable lines at the end of a log stand for, from `expected` on, and how many lines those are. */
function keptPlaces(bad: readonly BadLine[], expected: number): { count: number; lines: number } {
  let count = 0;
  let lines = 0;
  for (; lines < bad.length; lines++) {
    const { head, endsRecord } = bad[lines]!;
    if (isNearly(head, `${RECORD_START}${expected + count},"id":"evt-`)) count++;
    // A flipped bit that looks like a line break makes two lines of one record.
    else if (count === 0 || bad[lines - 1]!.endsRecord || !endsRecord) break;
  }
  return { count, lines };
}

/** True when a text starts as it should, but for one damaged character. */
function isNearly(text: string, start: string): boolean {
  let differences = text.length < start.length ? 2 : 0;
  for (let i = 0; i < start.length && differences < 2; i++) if (text[i] !== start[i]) differences++;
  return differences < 2;
}
