import { crc32 } from "node:zlib";
import { StoreError } from "../errors.js";
import { LIMITS } from "../limits.js";
import type { Appended, Entry, EventBody, LogEntry, Stored } from "../types.js";

/**
 * The text of a record, in memory, on disk and on the wire:
 *
 *     {"seq":42,"id":"evt-7c8a4f1e","type":"tool_call",…the body's own keys…,"ts":"2026-04-25T09:12:08.114Z"}
 *
 * `seq` and `id` come first, `ts` last, and the body's keys stay between them in the order they were given. Readers may slice
 * that layout instead of parsing it. `id` is `evt-` and the CRC-32 of the line with `evt-00000000` in its place.
 */
const SEQ = '{"seq":';
const ID = ',"id":"evt-';
const ZEROS = "00000000";
const TYPE = '","type":"';

/** Eight lower-case hexadecimal digits. */
export function hex8(value: number): string {
  return HEX[value >>> 24]! + HEX[(value >>> 16) & 255]! + HEX[(value >>> 8) & 255]! + HEX[value & 255]!;
}

/** The number a line claims to have: 0 when it does not begin like a record. */
export function claimedSeq(bytes: Buffer, start: number, end: number): number {
  let at = start + SEQ.length;
  let seq = 0;
  for (; at < end; at++) {
    const digit = bytes[at]! - 48;
    if (digit < 0 || digit > 9) break;
    seq = seq * 10 + digit;
  }
  return startsWith(bytes, start, SEQ) && bytes[at] === COMMA ? seq : 0;
}

/** The number a line carries when its checksum holds, else 0. Bytes `start..end` hold the line without its line feed. */
export function verifiedSeq(bytes: Buffer, start: number, end: number): number {
  const seq = claimedSeq(bytes, start, end);
  if (seq === 0) return 0;
  let at = start + SEQ.length;
  while (bytes[at] !== COMMA) at++;
  const id = at + ID.length;
  if (id + 8 > end || !startsWith(bytes, at, ID)) return 0;
  let claimed = 0;
  for (let i = id; i < id + 8; i++) {
    const value = HEX_VALUES[bytes[i]!]!;
    if (value < 0) return 0;
    claimed = claimed * 16 + value;
  }
  // Blank the digits in place and put them back, so that one native call covers the line: each call is expensive.
  for (let i = id; i < id + 8; i++) bytes[i] = ZERO;
  const checksum = crc32(bytes.subarray(start, end));
  for (let i = id + 7, rest = claimed; i >= id; i--, rest >>>= 4) bytes[i] = HEX_DIGITS[rest & 15]!;
  return checksum === claimed ? seq : 0;
}

/** The record id inside a line. */
export function lineId(line: string): string {
  const at = line.indexOf(ID) + ID.length - 4;
  return line.slice(at, at + 12);
}

/**
 * The time stamp at the end of a line.
 *
 * @example
 * const { ts } = { ts: lineTs(line) };
 */
export function lineTs(line: string): string {
  return line.slice(-26, -2);
}

/**
 * An entry appended by this process. Its line is built on first use. The file store sets the checksum when it encodes the bytes;
 * the entry computes it only when a reader asks sooner.
 *
 * A class, here and below: streams and replays make hundreds of thousands of entries, and objects that get their getters without
 * a class cost six times as much.
 */
export class AppendedEntry<E extends EventBody> implements Appended<E> {
  readonly seq: number;
  readonly type: string;
  readonly body: E;
  /** The text after the checksum in the line. */
  readonly tail: string;
  checksum = -1;
  readonly #ts: string;
  #line: string | undefined = undefined;
  #event: Stored<E> | undefined = undefined;

  constructor(seq: number, ts: string, given: E) {
    const encoded = encodeBody(given);
    const whole = wholeCharacters(encoded);
    this.seq = seq;
    this.body = whole === encoded ? given : (JSON.parse(whole) as E);
    this.type = this.body.type;
    this.tail = lineTail(whole, ts);
    this.#ts = ts;
  }

  get line(): string {
    this.#line ??= lineHead(this.seq) + this.#digits() + this.tail;
    return this.#line;
  }

  /** The given body with its number, id and time. Made without the line, because slicing a long line copies it. */
  get event(): Stored<E> {
    this.#event ??= stamped(this.body, this.seq, this.#digits(), this.#ts);
    return this.#event;
  }

  #digits(): string {
    if (this.checksum < 0) this.checksum = crc32(blankLine(this.seq, this.tail));
    return hex8(this.checksum);
  }
}

/** An entry read back: `event` is parsed on first use. */
export class ReplayedEntry<E extends EventBody> implements Entry<E> {
  readonly seq: number;
  readonly line: string;
  #type: string | undefined = undefined;
  #event: Stored<E> | undefined = undefined;

  constructor(seq: number, line: string) {
    this.seq = seq;
    this.line = line;
  }

  get type(): string {
    this.#type ??= lineType(this.line);
    return this.#type;
  }

  get event(): Stored<E> {
    this.#event ??= JSON.parse(this.line) as Stored<E>;
    return this.#event;
  }
}

/** An entry of another layout, already parsed. */
export function parsedEntry<E extends EventBody>(event: Stored<E>): Entry<E> {
  return { seq: event.seq, type: event.type, line: JSON.stringify(event), event };
}

/** The last number that an entry stands for. */
export function lastOf(entry: LogEntry<EventBody>): number {
  return "last" in entry ? entry.last : entry.seq;
}

/** Numbers and encodes a whole batch or nothing: a body that cannot be encoded throws before any number is used. */
export function encodeBatch<E extends EventBody>(
  events: readonly E[],
  lastSeq: number,
  stamp: () => string,
): AppendedEntry<E>[] {
  if (events.length === 0) throw new StoreError("empty_batch", "an append needs at least one event");
  const ts = stamp();
  const entries: AppendedEntry<E>[] = [];
  for (const event of events) {
    entries.push(new AppendedEntry(lastSeq + entries.length + 1, ts, event));
  }
  return entries;
}

/**
 * The lines of entries as bytes, for a backend that keeps bytes. It sets each appended entry's checksum from these bytes, so that it is
 * computed once. The next call reuses the returned memory.
 *
 * @example
 * writeSync(fd, encodeLines(entries));
 */
export function encodeLines(entries: readonly Entry<EventBody>[]): Buffer {
  let text = "";
  const ends: number[] = [];
  for (const entry of entries) {
    text += `${entry instanceof AppendedEntry ? blankLine(entry.seq, entry.tail) : entry.line}\n`;
    ends.push(text.length - 1);
  }
  const bytes = toBytes(text);
  // Character positions equal byte positions only while every character is one byte.
  const isPlain = bytes.length === text.length;
  let start = 0;
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i]!;
    const end = isPlain ? ends[i]! : bytes.indexOf(LF, start);
    if (entry instanceof AppendedEntry) entry.checksum = sealLine(bytes, start, end, entry.seq);
    start = end + 1;
  }
  return bytes;
}

/**
 * The entry with the line of this layout: a record of another layout is encoded again and keeps its number and time.
 *
 * @example
 * const { line } = withChecksum(entry);
 */
export function withChecksum<E extends EventBody>(entry: Entry<E>): Entry<E> {
  const bytes = Buffer.from(entry.line);
  if (verifiedSeq(bytes, 0, bytes.length) === entry.seq) return entry;
  return new AppendedEntry(entry.seq, entry.event.ts, entry.event);
}

/**
 * A clock whose ISO time stamps never decrease within one log, nor below its last record's. Formatting a time costs more than
 * the rest of a short append, so the text is reused within a millisecond.
 */
export function createStamp(clock: () => number, last = ""): () => string {
  let millisecond = ISO_MS.test(last) ? Date.parse(last) : 0;
  // Format the text again: `last` is a slice of a larger string and would keep that whole string in memory.
  let text = millisecond > 0 ? new Date(millisecond).toISOString() : "";
  return () => {
    const time = clock();
    if (time > millisecond || text === "") {
      millisecond = time;
      text = new Date(time).toISOString();
    }
    return text;
  };
}

/**
 * The value with U+FFFD for each half of a surrogate pair in its texts and names; the value itself where there is none.
 *
 * @example
 * wellFormed({ title: "a\ud83d" }); // { title: "a\ufffd" }
 */
export function wellFormed<T>(value: T): T {
  const encoded = JSON.stringify(value);
  const whole = wholeCharacters(encoded);
  return whole === encoded ? value : (JSON.parse(whole) as T);
}

// --- internal ---

/**
 * JSON text with U+FFFD in the place of each half of a surrogate pair, which JSON names by its escape. Strict parsers refuse a whole line
 * for one, and with it the session and any list that holds it. Clients and models send halves where they cut a text by UTF-16 units.
 */
function wholeCharacters(json: string): string {
  if (!json.includes("\\ud")) return json;
  return json.replace(/\\(?:\\|ud[89a-f]..)/g, (found) => (found === "\\\\" ? found : "\ufffd"));
}

const COMMA = 44;
const ZERO = 48;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const HEX_DIGITS = Buffer.from("0123456789abcdef");
/** The value of each lower-case hexadecimal digit by its character code, -1 for everything else. */
const HEX_VALUES = Int8Array.from({ length: 256 }, (_, code) => HEX_DIGITS.indexOf(code));

function startsWith(bytes: Buffer, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false;
  return true;
}

function stamped<E extends EventBody>(body: E, seq: number, digits: string, ts: string): Stored<E> {
  const stamps = { seq, id: `evt-${digits}` };
  // The stamps are assigned twice: once so that their keys come first, once so that they win over a copied record's old stamps.
  return Object.assign({}, stamps, body, stamps, { ts });
}

const ISO_MS = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

const LF = 10;
/** One buffer per process saves an allocation per write. */
const scratch = Buffer.allocUnsafeSlow(4 * LIMITS.writeBytes);

function toBytes(text: string): Buffer {
  return text.length * 3 > scratch.length ? Buffer.from(text) : scratch.subarray(0, scratch.write(text));
}

/** The event's JSON: an object with at least one key. */
function encodeBody(event: EventBody): string {
  if (typeof event !== "object" || event === null || typeof event.type !== "string") {
    throw new StoreError("invalid_event", "an event is an object with a string `type`");
  }
  let text: string;
  try {
    // A record from another log still has that log's stamps; this log gives new ones.
    const copied = "seq" in event || "id" in event || "ts" in event;
    text = JSON.stringify(copied ? { ...event, seq: undefined, id: undefined, ts: undefined } : event);
  } catch (cause) {
    throw new StoreError("invalid_event", "the event cannot be written as JSON", { cause });
  }
  if (!text?.startsWith('{"')) throw new StoreError("invalid_event", "the event is not written as a JSON object");
  if (text.length > LIMITS.recordBytes) {
    throw new StoreError(
      "too_large",
      `an event of ${text.length} characters is over the limit of ${LIMITS.recordBytes}`,
    );
  }
  return text;
}

/** The text before a record's checksum. */
function lineHead(seq: number): string {
  return `${SEQ}${seq}${ID}`;
}

/** The text after a record's checksum, made from the body's JSON. */
function lineTail(body: string, ts: string): string {
  return `",${body.slice(1, -1)},"ts":"${ts}"}`;
}

/** A line with zeros in the place of its checksum. */
function blankLine(seq: number, tail: string): string {
  return lineHead(seq) + ZEROS + tail;
}

/** Computes the checksum of the blank line at `start..end`, writes it into the line and returns it. */
function sealLine(bytes: Buffer, start: number, end: number, seq: number): number {
  const checksum = crc32(bytes.subarray(start, end));
  let at = start + SEQ.length + ID.length + 8;
  for (let rest = seq; rest > 0; rest = Math.floor(rest / 10)) at++;
  for (let digits = checksum; digits > 0; digits >>>= 4) bytes[--at] = HEX_DIGITS[digits & 15]!;
  return checksum;
}

/** The record type, read from its usual place without parsing the line. */
function lineType(line: string): string {
  const at = line.indexOf(ID) + ID.length + 8;
  if (line.startsWith(TYPE, at)) {
    const start = at + TYPE.length;
    const end = line.indexOf('"', start);
    const type = line.slice(start, end);
    if (!type.includes("\\")) return type;
  }
  return String((JSON.parse(line) as { type: unknown }).type);
}
