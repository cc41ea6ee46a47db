import { randomBytes } from "node:crypto";
import { ftruncateSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "../../errors.js";
import type { OpenFiles } from "../open-files.js";
import { formatHeader, type SegmentHeader, segmentName } from "./header.js";

/** A segment that this process writes. */
export interface SegmentFile {
  readonly name: string;
  /** Bytes that are valid: the header and whole records. */
  readonly size: number;
  readonly headerBytes: number;
  /**
   * Writes at the end. Fewer bytes are written than wanted when the disk is nearly full: the caller says by `cut` how many of
   * them to keep.
   */
  write(bytes: Buffer): { written: number; wanted: number };
  /** Forgets what is behind `size`, also when the file cannot be truncated just now. */
  cut(size: number): void;
  /** The bytes from `start` to the end. */
  read(start: number): Buffer;
  fd(): number;
  /** Takes the file back. */
  remove(): void;
  /** The key of its descriptor in the open files. */
  readonly key: object;
}

/** Creates the file with its header; throws without leaving half a header behind that anybody would read. */
export function createSegmentFile(
  directory: () => string,
  first: number,
  header: SegmentHeader,
  openFiles: OpenFiles,
): SegmentFile {
  const name = segmentName(first, randomBytes(4).toString("hex"));
  const path = (): string => join(directory(), name);
  const key = {};
  const head = Buffer.from(`${formatHeader(header)}\n`);
  let size = 0;
  let created = false;

  const fd = (): number =>
    openFiles.use(key, () => {
      const opened = openSync(path(), created ? "r+" : "wx+", 0o600);
      created = true;
      return opened;
    });

  const file: SegmentFile = {
    name,
    key,
    get size() {
      return size;
    },
    headerBytes: head.length,
    write(bytes) {
      const written = writeSync(fd(), bytes, 0, bytes.length, size);
      size += written;
      return { written, wanted: bytes.length };
    },
    cut(to) {
      size = to;
      ftruncateSync(fd(), to);
    },
    read(start) {
      const bytes = Buffer.allocUnsafe(size - start);
      let at = 0;
      while (at < bytes.length) {
        const read = readSync(fd(), bytes, at, bytes.length - at, start + at);
        if (read === 0) throw new StoreError("io", `${name} is shorter than what was written to it`);
        at += read;
      }
      return bytes;
    },
    fd,
    remove() {
      openFiles.drop(key);
      rmSync(path(), { force: true });
    },
  };

  try {
    const { written, wanted } = file.write(head);
    if (written < wanted) throw new StoreError("storage_full", `${name}: short write, the disk is full`);
  } catch (error) {
    // Nobody knows of it yet, and a full disk must not fill with empty files.
    file.remove();
    throw error;
  }
  return file;
}
