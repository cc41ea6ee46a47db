// Archives that come out the same wherever they are made: one order, one date, no owner. A hash of one can be checked by anybody
// who builds it again.
import { crc32, deflateRawSync, gzipSync } from "node:zlib";

/** @typedef {{ path: string, bytes: Buffer, executable?: boolean }} File */

/** A gzipped tar (ustar) of the files. */
export function tarGz(files) {
  const blocks = sorted(files).flatMap(({ path, bytes, executable }) => [
    tarHeader(path, bytes.length, executable ? 0o755 : 0o644),
    bytes,
    Buffer.alloc(-bytes.length & 511),
  ]);
  const zipped = gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]), { level: 9 });
  zipped[9] = 255; // the system it was made on: unknown
  return zipped;
}

/** A zip of the files. */
export function zip(files) {
  const local = [];
  const central = [];
  let offset = 0;
  for (const { path, bytes } of sorted(files)) {
    const name = Buffer.from(path);
    const packed = deflateRawSync(bytes, { level: 9 });
    const about = Buffer.alloc(26);
    about.writeUInt16LE(20, 0); // version needed: 2.0
    about.writeUInt16LE(8, 4); // deflated
    about.writeUInt32LE(ZIP_DATE, 6);
    about.writeUInt32LE(crc32(bytes), 10);
    about.writeUInt32LE(packed.length, 14);
    about.writeUInt32LE(bytes.length, 18);
    about.writeUInt16LE(name.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    local.push(LOCAL, about, name, packed);
    central.push(CENTRAL, about, place, name);
    offset += LOCAL.length + about.length + name.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(Buffer.concat(central).length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...local, ...central, end]);
}

// --- internal ---

const sorted = (files) => files.toSorted((a, b) => (a.path < b.path ? -1 : 1));

/** 1 January 2000, as seconds and in MS-DOS's fields. */
const TAR_DATE = 946_684_800;
const ZIP_DATE = (((2000 - 1980) << 25) | (1 << 21) | (1 << 16)) >>> 0;

const LOCAL = Buffer.from("PK\x03\x04", "latin1");
/** The second word is the version of the format that the maker writes. */
const CENTRAL = Buffer.from("PK\x01\x02\x14\x00", "latin1");

function tarHeader(path, size, mode) {
  if (Buffer.byteLength(path) > 100) throw new Error(`${path} is too long a name for a tar`);
  const header = Buffer.alloc(512);
  const octal = (value, width) => `${value.toString(8).padStart(width - 1, "0")}\0`;
  header.write(path, 0);
  header.write(octal(mode, 8) + octal(0, 8) + octal(0, 8) + octal(size, 12) + octal(TAR_DATE, 12), 100);
  header.write("        0", 148); // the sum is taken with blanks in its place; a plain file
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
