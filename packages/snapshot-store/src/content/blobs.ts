/** Content by its SHA-256: each version of a file is stored once, and checked against its name when it is read. */
import { createHash } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { errnoOf, unless } from "../errors.js";
import { atOnce, type Steps } from "../pacer.js";
import { namesIn, temporaryName } from "./atomic-file.js";
import { fillingNew, PIECE_BYTES, readingAtMost } from "./pieces.js";

export type Blobs = ReturnType<typeof createBlobs>;

/** How many blobs to list between two looks at the clock. */
const STRETCH = 100;
const SHA256 = /^[0-9a-f]{64}$/;

export function isSha256(value: unknown): value is string {
  return typeof value === "string" && SHA256.test(value);
}

export function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function createBlobs(directory: string) {
  let made = false;
  /** The bytes of all blobs; null until they are counted. */
  let total: number | null = null;

  const pathOf = (sha: string): string => `${directory}/${sha}`;

  function prepare(): void {
    if (!made) mkdirSync(directory, { recursive: true, mode: 0o700 });
    made = true;
  }

  function sizeOf(sha: string): number | null {
    return statSync(pathOf(sha), { throwIfNoEntry: false })?.size ?? null;
  }

  /** Lists the blobs, a few at a time. */
  function* listing(): Steps<Map<string, { readonly bytes: number; readonly mtimeMs: number }>> {
    const found = new Map<string, { readonly bytes: number; readonly mtimeMs: number }>();
    for (const name of namesIn(directory)) {
      const stat = statSync(pathOf(name), { throwIfNoEntry: false });
      if (stat?.isFile()) found.set(name, { bytes: stat.size, mtimeMs: stat.mtimeMs });
      if (found.size % STRETCH === 0) yield;
    }
    return found;
  }

  const list = () => atOnce(listing());

  /** Makes the directory again if it is gone: `clear` or `gc` of another process may have removed it. */
  function retrying<T>(write: () => T): T {
    prepare();
    try {
      return write();
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
      made = false;
      prepare();
      return write();
    }
  }

  /** Reads a blob, piece by piece; null when it is missing or does not match its name. */
  function* reading(sha: string): Steps<Buffer | null> {
    const fd = unless(["ENOENT"], () => openSync(pathOf(sha), "r"));
    if (fd === null) return null;
    try {
      const read = yield* readingAtMost(fd, fstatSync(fd).size, Number.MAX_SAFE_INTEGER);
      return read?.sha === sha ? read.bytes : null;
    } finally {
      closeSync(fd);
    }
  }

  /** Writes a large blob to a temporary file, so that no reader sees part of it. */
  function* writingDraft(bytes: Buffer): Steps<string> {
    const draft = `${directory}/${temporaryName()}`;
    const fd = retrying(() => openSync(draft, "wx", 0o600));
    yield* fillingNew(draft, fd, [bytes]);
    return draft;
  }

  return {
    /** Stores content under its hash, which the caller has computed; large content piece by piece. */
    *putting(sha: string, bytes: Buffer): Steps<void> {
      const path = pathOf(sha);
      const large = bytes.length > PIECE_BYTES ? yield* writingDraft(bytes) : null;
      const isNew = retrying(() => (large === null ? store(path, bytes) : take(path, large, bytes.length)));
      if (isNew && total !== null) total += bytes.length;
    },
    /** Takes a blob from another store, by a hard link where possible. Returns false when that store does not have it. */
    adopt(sha: string, from: { size(sha: string): number | null; path(sha: string): string }) {
      const bytes = from.size(sha);
      const own = sizeOf(sha);
      if (own !== null && (bytes === null || own === bytes)) return true;
      if (bytes === null) return false;
      retrying(() => linkOrCopy(from.path(sha), pathOf(sha)));
      if (total !== null) total += bytes;
      return true;
    },
    read: (sha: string) => atOnce(reading(sha)),
    reading,
    size: sizeOf,
    path: pathOf,
    list,
    listing,
    /** The bytes of all blobs; counted once, then kept up to date. */
    bytes() {
      total ??= [...list().values()].reduce((sum, blob) => sum + blob.bytes, 0);
      return total;
    },
    remove(sha: string) {
      if (total !== null) total -= sizeOf(sha) ?? 0;
      rmSync(pathOf(sha), { force: true });
    },
  };
}

// --- internal ---

/** Stores a blob; returns false when it exists. A blob that a crash cut short has another size, and is replaced. */
function store(path: string, bytes: Buffer): boolean {
  if (unless(["EEXIST"], () => create(path, bytes)) !== null) return true;
  if (statSync(path, { throwIfNoEntry: false })?.size === bytes.length) return false;
  replacing(path, (temporary) => create(temporary, bytes));
  return true;
}

/** Stores a blob from its draft; returns false when it exists. */
function take(path: string, draft: string, length: number): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.size === length) {
    rmSync(draft, { force: true });
    return false;
  }
  renameSync(draft, path);
  return true;
}

function create(path: string, bytes: Buffer): void {
  atOnce(fillingNew(path, openSync(path, "wx", 0o600), [bytes]));
}

function linkOrCopy(source: string, path: string): void {
  try {
    linkSync(source, path);
  } catch {
    // The existing blob is not whole, or the file system does not support hard links.
    replacing(path, (temporary) => copyFileSync(source, temporary));
  }
}

function replacing(path: string, make: (temporary: string) => void): void {
  const temporary = `${dirname(path)}/${temporaryName()}`;
  make(temporary);
  renameSync(temporary, path);
}
