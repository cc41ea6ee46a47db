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

/** Builds the line from the body's JSON without its outer braces. */
export function formatLine(seq: number, body: string, ts: string): string {
  const head = `${SEQ}${seq}${ID}`;
  const tail = `",${body},"ts":"${ts}"}`;
  return head + hex8(crc32(tail, crcOfAscii(head + ZEROS))) + tail;
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

const TYPE = '","type":"';

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

/** The number a line carries when its checksum holds, else 0. Bytes `start..end` hold the line without its line feed. */
export function verifiedSeq(bytes: Buffer, start: number, end: number): number {
  let at = start + SEQ.length;
  let seq = 0;
  for (; at < end; at++) {
    const digit = bytes[at]! - 48;
    if (digit < 0 || digit > 9) break;
    seq = seq * 10 + digit;
  }
  const id = at + ID.length;
  if (seq === 0 || id + 8 > end || !startsWith(bytes, start, SEQ) || !startsWith(bytes, at, ID)) return 0;
  let claimed = 0;
  // One checksum call over the line with zeros in the id's place, which is put back before anybody else looks.
  for (let i = 0; i < 8; i++) {
    const byte = bytes[id + i]!;
    claimed = claimed * 16 + (HEX_VALUE[byte] ?? 0);
    saved[i] = byte;
    bytes[id + i] = 48;
  }
  const actual = crc32(bytes.subarray(start, end));
  let exact = true;
  for (let i = 0; i < 8; i++) {
    const byte = saved[i]!;
    bytes[id + i] = byte;
    if (HEX_VALUE[byte] === undefined) exact = false;
  }
  return exact && actual === claimed ? seq : 0;
}

/** Eight lower-case hexadecimal digits. */
export function hex8(value: number): string {
  return HEX[value >>> 24]! + HEX[(value >>> 16) & 255]! + HEX[(value >>> 8) & 255]! + HEX[value & 255]!;
}

// --- internal ---

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const saved = new Uint8Array(8);
/** The value of each lower-case hexadecimal digit, by its character code. */
const HEX_VALUE: readonly (number | undefined)[] = Array.from({ length: 256 }, (_, code) => {
  const value = "0123456789abcdef".indexOf(String.fromCharCode(code));
  return value < 0 ? undefined : value;
});
/** CRC-32 of each byte, for the few characters before the checksum's place: a native call costs more than they do. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** CRC-32 of a short ASCII text. */
function crcOfAscii(text: string): number {
  let crc = -1;
  for (let i = 0; i < text.length; i++) crc = CRC_TABLE[(crc ^ text.charCodeAt(i)) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

function startsWith(bytes: Buffer, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false;
  return true;
}
