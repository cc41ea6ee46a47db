import { closeSync, readSync, writeFileSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import { hex8 } from "../../backend/line.js";
import { LIMITS } from "../../limits.js";
import { replaceFileSync } from "../disk.js";
import { lendChunk, openRegular, takeChunkBack } from "../regular-file.js";

// The file of the session index: a checksum, and below it one line per session. It is read and written through one borrowed chunk:
// one string of the whole file would grow with the number of sessions, and the allocator keeps that much memory in each thread.

const CHECK_BYTES = 9;
const LINE_BREAK = 0x0a;

/** Replaces the file. A line that is longer than a chunk is left out; a list then reads that session's summary. */
export function writeIndexFile(path: string, lines: Iterable<string>): void {
  const chunk = lendChunk();
  let held = 0;
  let crc = 0;
  try {
    replaceFileSync(path, (fd) => {
      const flush = (): void => {
        const bytes = chunk.subarray(0, held);
        crc = crc32(bytes, crc);
        writeFileSync(fd, bytes);
        held = 0;
      };
      writeFileSync(fd, checkOf(0));
      for (const line of lines) {
        const bytes = Buffer.byteLength(line) + 1;
        if (bytes > chunk.length) continue;
        if (held + bytes > chunk.length) flush();
        held += chunk.write(`${line}\n`, held);
      }
      flush();
      writeSync(fd, checkOf(crc), 0);
    });
  } finally {
    takeChunkBack(chunk);
  }
}

/** Passes the lines to `take`, many at once and without the last line break. Returns false when the checksum does not match. */
export function readIndexFile(path: string, take: (lines: string) => void): boolean {
  const file = openRegular(path);
  if (file === null) return false;
  const chunk = lendChunk();
  try {
    if (file.size > LIMITS.indexBytes) return false;
    const check = chunk.toString("latin1", 0, readSync(file.fd, chunk, 0, CHECK_BYTES, null));
    let crc = 0;
    let held = 0;
    for (;;) {
      const read = readSync(file.fd, chunk, held, chunk.length - held, null);
      if (read === 0) return held === 0 && check === checkOf(crc);
      crc = crc32(chunk.subarray(held, held + read), crc);
      held += read;
      const end = chunk.lastIndexOf(LINE_BREAK, held - 1) + 1;
      if (end > 0) take(chunk.toString("utf8", 0, end - 1));
      chunk.copyWithin(0, end, held);
      held -= end;
    }
  } finally {
    takeChunkBack(chunk);
    closeSync(file.fd);
  }
}

// --- internal ---

const checkOf = (crc: number): string => `${hex8(crc)}\n`;
