import { crc32 } from "node:zlib";

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

/** What stands before a record's checksum. */
export function lineHead(seq: number): string {
  return `${SEQ}${seq}${ID}`;
}

/** What stands behind it, from the body's JSON. */
export function lineTail(body: string, ts: string): string {
  return `",${body.slice(1, -1)},"ts":"${ts}"}`;
}

/** A line whose checksum is still to come. */
export function blankLine(seq: number, tail: string): string {
  return lineHead(seq) + ZEROS + tail;
}

/** The checksum of a line that was not written yet. */
export function lineChecksum(seq: number, tail: string): number {
  return crc32(blankLine(seq, tail));
}

/** Puts its checksum into the blank line at `start..end`, and returns it. */
export function sealLine(bytes: Buffer, start: number, end: number, seq: number): number {
  const checksum = crc32(bytes.subarray(start, end));
  let at = start + SEQ.length + ID.length + 8;
  for (let rest = seq; rest > 0; rest = Math.floor(rest / 10)) at++;
  for (let digits = checksum; digits > 0; digits >>>= 4) bytes[--at] = HEX_DIGITS[digits & 15]!;
  return checksum;
}

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
  // The digits are blanked in place and put back, so that one native call covers the line: the call is what costs.
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

/** The time stamp at the end of a line. */
export function lineTs(line: string): string {
  return line.slice(-26, -2);
}

/** The record type. Taken from its usual place without parsing the line. */
export function lineType(line: string): string {
  const at = line.indexOf(ID) + ID.length + 8;
  if (line.startsWith(TYPE, at)) {
    const start = at + TYPE.length;
    const end = line.indexOf('"', start);
    const type = line.slice(start, end);
    if (!type.includes("\\")) return type;
  }
  return String((JSON.parse(line) as { type: unknown }).type);
}

// --- internal ---

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
