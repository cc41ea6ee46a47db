import { isAscii } from "node:buffer";
import { LIMITS } from "../limits.js";
import { type Counts, countType, createCounts } from "../record/counts.js";
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
  /** Where the unfinished line begins. */
  readonly lineStart: number;
  /** False while it is still open what the lines before this one were. */
  readonly isSound: boolean;
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

/** Unreadable lines since the last record: of the first of them, those that look like the records that come next. */
interface BadLines {
  readonly at: number;
  /** How many numbers they stand for. */
  places: number;
  /** Where the last of those ends, and whether it ends like a record. */
  end: number;
  endsRecord: boolean;
  /** A line came that stands for no number; what is behind it does not count. */
  isOver: boolean;
  /** The types that can still be read in them. */
  readonly types: Counts;
}

const LF = 10;
/** Enough of a line to see which record it was, and of which type. */
const HEAD_BYTES = 128;
/** Where the type stands behind the digits of the checksum. */
const TYPE = /^.{8}","type":"([^"\\]+)"/s;
const RECORD_START = '{"seq":';
const RECORD_END = 'Z"}';
/** No whole record has fewer bytes. */
const SHORTEST_RECORD = 40;
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
  let bad: BadLines | null = null;

  /** Reports the numbers from `expected` up to `next`, or unreadable bytes that stand for no number. */
  const settleBad = (next: number, at: number): void => {
    const where = `${name}@${bad?.at ?? at}`;
    if (next > expected) {
      // Lines that stand for more numbers than are missing were none of the log's.
      const types = bad !== null && bad.places <= next - expected ? bad.types : {};
      onDamage?.({ seq: expected, last: next - 1, where, reason: "damaged", types });
    }
    if (next <= expected && bad !== null)
      onDamage?.({ seq: null, last: null, where, reason: "unreadable bytes between records" });
    bad = null;
    expected = next;
  };

  const accept = (chunk: Chunk, start: number, end: number, at: number, entries: Entry<E>[]): boolean => {
    const seq = verifiedSeq(chunk.bytes, start, end);
    if (seq < expected) return false;
    if (seq > expected || bad !== null) settleBad(seq, at);
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
    if (end - start >= SHORTEST_RECORD && salvage(chunk, start, end, at, entries) > 0) {
      validBytes = at + (end - start) + 1;
      return;
    }
    bad ??= { at, places: 0, end: at, endsRecord: true, isOver: false, types: createCounts() };
    if (!bad.isOver) passOver(bad, expected, bytes.subarray(start, end), at + (end - start) + 1);
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
    // A copy: the caller reads its next chunk into the same memory.
    carry.push(Buffer.from(rest));
    carryBytes += rest.length;
    if (carryBytes <= LIMITS.recordBytes * 4) return;
    overlong = true;
    bad ??= { at: offset - carryBytes, places: 0, end: offset, endsRecord: true, isOver: true, types: createCounts() };
    bad.isOver = true;
    dropCarried();
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
    get lineStart() {
      return offset - carryBytes;
    },
    get isSound() {
      return bad === null && !overlong;
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
      if (expected < next || bad !== null) settleBad(Math.max(next, expected), at);
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
      if (bad?.isOver) torn = true;
      if (bad !== null && bad.places > 0) {
        validBytes = bad.end;
        settleBad(expected + bad.places, offset);
      }
      bad = null;
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
  const line = bytes.subarray(start, end);
  for (let at = line.indexOf(RECORD_START); at >= 0 && starts.length < 64; at = line.indexOf(RECORD_START, at + 1)) {
    starts.push(start + at);
  }
  return starts;
}

/** Takes one more unreadable line, which ends at `end`, into account. */
function passOver(bad: BadLines, expected: number, line: Buffer, end: number): void {
  const head = line.toString("latin1", 0, HEAD_BYTES);
  const endsRecord = line.toString("latin1", Math.max(0, line.length - RECORD_END.length)) === RECORD_END;
  const start = `${RECORD_START}${expected + bad.places},"id":"evt-`;
  if (isNearly(head, start)) {
    bad.places++;
    const type = TYPE.exec(head.slice(start.length))?.[1];
    if (type !== undefined) countType(bad.types, type);
  }
  // A flipped bit that looks like a line break makes two lines of one record.
  else if (bad.places === 0 || bad.endsRecord || !endsRecord) {
    bad.isOver = true;
    return;
  }
  bad.end = end;
  bad.endsRecord = endsRecord;
}

/** True when a text starts as it should, but for one damaged character. */
function isNearly(text: string, start: string): boolean {
  let differences = text.length < start.length ? 2 : 0;
  for (let i = 0; i < start.length && differences < 2; i++) if (text[i] !== start[i]) differences++;
  return differences < 2;
}
