import { crc32 } from "node:zlib";

/** CRC-32 of bytes `start..end`, continued from the CRC of what came before them. */
export function crcOfBytes(bytes: Buffer, start: number, end: number, before = 0): number {
  // Records are mostly short, and a native call costs what the table needs for some hundred bytes. But the table has to be made,
  // and the loop over it to be compiled: the native call is quicker for as many records as most processes ever see.
  if (end - start > TABLE_BYTES || seen < FEW) {
    seen++;
    return crc32(bytes.subarray(start, end), before);
  }
  made ??= makeTable();
  const table = made;
  let crc = ~before;
  let at = start;
  for (; at + 8 <= end; at += 8) {
    const low = crc ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
    crc =
      table[1792 + (low & 255)]! ^
      table[1536 + ((low >>> 8) & 255)]! ^
      table[1280 + ((low >>> 16) & 255)]! ^
      table[1024 + (low >>> 24)]! ^
      table[768 + bytes[at + 4]!]! ^
      table[512 + bytes[at + 5]!]! ^
      table[256 + bytes[at + 6]!]! ^
      table[bytes[at + 7]!]!;
  }
  for (; at < end; at++) crc = table[(crc ^ bytes[at]!) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Eight lower-case hexadecimal digits. */
export function hex8(value: number): string {
  return HEX[value >>> 24]! + HEX[(value >>> 16) & 255]! + HEX[(value >>> 8) & 255]! + HEX[value & 255]!;
}

// --- internal ---

const TABLE_BYTES = 512;
/** What the native calls cost more, once all is compiled, is by then what the table and its loop would have cost. */
const FEW = 50_000;
let seen = 0;
let made: Int32Array | undefined;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Eight tables of 256, so that eight bytes are taken at a time: table k holds a byte's CRC followed by k zero bytes. */
function makeTable(): Int32Array {
  const table = new Int32Array(8 * 256);
  for (let i = 0; i < table.length; i++) {
    let crc = i < 256 ? i : table[i - 256]!;
    if (i < 256) for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    else crc = table[crc & 255]! ^ (crc >>> 8);
    table[i] = crc;
  }
  return table;
}
