import { randomUUID } from "node:crypto";
import { ftruncateSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { encodeLines } from "../../backend/line.js";
import { StoreError } from "../../errors.js";
import { LIMITS } from "../../limits.js";
import type { Entry, EventBody } from "../../types.js";
import type { OpenFiles } from "../disk.js";
import { formatHeader, type SegmentHeader, segmentName } from "./header.js";
import type { LogEnd } from "./log-end.js";

/** A position from which a segment could continue the log. */
interface LogPosition {
  readonly seq: number;
  readonly prev: SegmentHeader["prev"];
}

/** The files that one sync makes durable, and the position that they reach. */
export interface SyncPoint extends LogPosition {
  readonly files: readonly SegmentFile[];
  /** True when a segment was started since the last sync, so that the directory must be synced too. */
  readonly hasNewFile: boolean;
}

export type SegmentLog = ReturnType<typeof createSegmentLog>;

/** Writes whole records to the end of a log, in segments, and knows which of them are on disk. */
export function createSegmentLog(options: {
  /** The directory of the segments, read at each use, because a new session gets its final name last. */
  readonly place: { readonly path: string };
  /** The fence of the writer that continues the log. */
  readonly fence: number;
  readonly end: LogEnd;
  readonly birth?: object | undefined;
  readonly openFiles: OpenFiles;
}) {
  const { place, end, birth, openFiles } = options;
  // A directory that lost its claim files in a crash counts fences from 1 again; its segments must not.
  const fence = Math.max(options.fence, end.chain.fence + 1);
  /** The name of the log's first file, which has a random part. Empty before there is one. */
  let origin = (end.chain.files[0] ?? end.chain.segments[0])?.name ?? "";
  let writtenSeq = end.lastSeq;
  /** The end of the last segment, while none is open. */
  let prev = end.prev;
  let current: SegmentFile | null = null;
  /** Full segments that no sync has covered yet. */
  let closed: SegmentFile[] = [];
  let durable: LogPosition = { seq: writtenSeq, prev };
  let distrusted = false;
  let rewrites = 0;
  let hasNewFile = false;

  const roll = (): void => {
    if (current === null) return;
    prev = { name: current.name, bytes: current.size };
    closed.push(current);
    current = null;
  };

  const open = (): SegmentFile => {
    if (current === null) {
      current = createSegmentFile(place, writtenSeq + 1, { fence, rewrites, prev, birth }, openFiles);
      hasNewFile = true;
      origin ||= current.name;
    }
    return current;
  };

  const openSegments = (): SegmentFile[] => (current === null ? [...closed] : [...closed, current]);

  /** Closes the descriptors; the next use opens the file again by its name. */
  const letGo = (): void => {
    for (const file of openSegments()) openFiles.drop(file.key);
  };

  /** Writes all records since the last good sync again, into a new segment. */
  const rewrite = (): void => {
    const from = (one: SegmentFile) => (one.name === durable.prev?.name ? durable.prev.bytes : one.headerBytes);
    const bytes = Buffer.concat(openSegments().map((one) => one.read(from(one))));
    const header = { fence, rewrites: ++rewrites, prev: durable.prev, birth };
    const file = createSegmentFile(place, durable.seq + 1, header, openFiles);
    try {
      const { written, wanted } = file.write(bytes);
      if (written < wanted) throw Object.assign(new Error("short write"), { code: "ENOSPC" });
    } catch (error) {
      // A partial segment would hide the records in the segments that it replaces.
      file.remove();
      throw error;
    }
    letGo();
    closed = [];
    current = file;
    if (durable.seq === 0) origin = file.name;
    hasNewFile = true;
    distrusted = false;
  };

  /** Cuts off bytes that a failed write may have left after the last whole record. */
  const cutTo = (file: SegmentFile, size: number): void => {
    try {
      file.cut(size);
    } catch {
      roll();
    }
  };

  return {
    origin: () => origin,
    get durableSeq() {
      return durable.seq;
    },
    /** Starts a segment now, so that later writes of the former writer are not part of the log. */
    start() {
      open();
    },
    /** Writes the entries' lines and returns how many are written, which is fewer on a full disk. Throws on any other error. */
    write(entries: readonly Entry<EventBody>[]) {
      if (entries.length === 0) return 0;
      if (distrusted) rewrite();
      const file = open();
      const start = file.size;
      let result: { written: number; wanted: number };
      try {
        result = file.write(encodeLines(entries));
      } catch (error) {
        cutTo(file, start);
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") roll();
        throw error;
      }
      if (result.written < result.wanted) {
        const kept = wholeLines(entries, result.written);
        cutTo(file, start + kept.bytes);
        writtenSeq = entries[kept.count - 1]?.seq ?? writtenSeq;
        return kept.count;
      }
      writtenSeq = entries[entries.length - 1]!.seq;
      if (file.size >= LIMITS.segmentBytes) roll();
      return entries.length;
    },
    /** What the next sync must cover. After a failed sync it rewrites records first, and throws if that fails. */
    syncPoint() {
      if (distrusted) rewrite();
      const point: SyncPoint = {
        seq: writtenSeq,
        prev: current === null ? prev : { name: current.name, bytes: current.size },
        files: openSegments(),
        hasNewFile,
      };
      hasNewFile = false;
      return point;
    },
    synced(point: SyncPoint) {
      durable = point;
      for (const file of point.files) if (file !== current) openFiles.drop(file.key);
      closed = closed.filter((file) => !point.files.includes(file));
    },
    letGo,
    /**
     * Call this when a sync failed: the kernel may have dropped the pages and marked them clean, so another sync of the same file
     * proves nothing. The next write or sync starts a new segment with all records since the last good sync.
     */
    distrust() {
      distrusted = true;
      hasNewFile = true;
    },
    close() {
      letGo();
      closed = [];
      current = null;
    },
  };
}

/** A segment that this process writes. */
export type SegmentFile = ReturnType<typeof createSegmentFile>;

// --- internal ---

/** How many entries fit into `bytes` with their lines and line breaks, and how many bytes they take. */
function wholeLines(entries: readonly Entry<EventBody>[], bytes: number): { count: number; bytes: number } {
  let used = 0;
  let count = 0;
  for (const entry of entries) {
    const next = used + Buffer.byteLength(entry.line) + 1;
    if (next > bytes) break;
    used = next;
    count++;
  }
  return { count, bytes: used };
}

/** Creates the file with its header. When that throws it removes the file, so that no reader meets half a header. */
function createSegmentFile(
  place: { readonly path: string },
  first: number,
  header: SegmentHeader,
  openFiles: OpenFiles,
) {
  const name = segmentName(first, randomUUID().slice(-8));
  const path = (): string => join(place.path, name);
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

  const file = {
    name,
    /** The key of the file's descriptor in `openFiles`. */
    key,
    /** How many bytes are valid: the header and whole records. */
    get size() {
      return size;
    },
    headerBytes: head.length,
    /** Writes at the end. It writes fewer bytes when the disk is nearly full; the caller then cuts off the last, partial record. */
    write(bytes: Buffer) {
      const written = writeSync(fd(), bytes, 0, bytes.length, size);
      size += written;
      return { written, wanted: bytes.length };
    },
    /** Cuts the file to `to` bytes. The size is set even when truncating fails, so that the next write overwrites the rest. */
    cut(to: number) {
      size = to;
      ftruncateSync(fd(), to);
    },
    /** The bytes from `start` to the end. */
    read(start: number) {
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
    /** Closes and removes the file. */
    remove() {
      openFiles.drop(key);
      rmSync(path(), { force: true });
    },
  };

  try {
    const { written, wanted } = file.write(head);
    if (written < wanted) throw new StoreError("storage_full", `${name}: short write, the disk is full`);
  } catch (error) {
    // No log refers to the file yet, and a full disk must not fill with empty files.
    file.remove();
    throw error;
  }
  return file;
}
