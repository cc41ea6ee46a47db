/** Content by its SHA-256: each version of a file is stored once, and is checked against its name when it is read. */
import { createHash } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { errnoOf } from "../errors.js";
import { temporaryName } from "./atomic-file.js";
import { namesIn } from "./names-in.js";

export interface Blobs {
  /** Stores content under its hash, which the caller has computed. */
  put(sha: string, bytes: Buffer): void;
  /** Takes a blob over from another store without copying where the file system allows; false when it has none. */
  adopt(sha: string, from: Blobs): boolean;
  /** The content, or null when it is missing or no longer what its name says. */
  read(sha: string): Buffer | null;
  size(sha: string): number | null;
  path(sha: string): string;
  list(): Map<string, BlobStat>;
  /** What all blobs hold together; counted once, then kept up to date. */
  bytes(): number;
  remove(sha: string): void;
}

export interface BlobStat {
  readonly bytes: number;
  readonly mtimeMs: number;
}

const SHA256 = /^[0-9a-f]{64}$/;

export function isSha256(value: unknown): value is string {
  return typeof value === "string" && SHA256.test(value);
}

export function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function createBlobs(directory: string): Blobs {
  let made = false;
  /** Null until somebody asks. */
  let total: number | null = null;

  const pathOf = (sha: string): string => `${directory}/${sha}`;

  function prepare(): void {
    if (!made) mkdirSync(directory, { recursive: true, mode: 0o700 });
    made = true;
  }

  function sizeOf(sha: string): number | null {
    return statSync(pathOf(sha), { throwIfNoEntry: false })?.size ?? null;
  }

  function list(): Map<string, BlobStat> {
    const found = new Map<string, BlobStat>();
    for (const name of namesIn(directory)) {
      const stat = statSync(pathOf(name), { throwIfNoEntry: false });
      if (stat?.isFile()) found.set(name, { bytes: stat.size, mtimeMs: stat.mtimeMs });
    }
    return found;
  }

  /** A removed directory is made again; `clear` and `gc` of another process may have taken it. */
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

  return {
    put(sha, bytes) {
      const isNew = retrying(() => store(pathOf(sha), bytes));
      if (isNew && total !== null) total += bytes.length;
    },
    adopt(sha, from) {
      const bytes = from.size(sha);
      const own = sizeOf(sha);
      if (own !== null && (bytes === null || own === bytes)) return true;
      if (bytes === null) return false;
      retrying(() => linkOrCopy(from.path(sha), pathOf(sha)));
      if (total !== null) total += bytes;
      return true;
    },
    read(sha) {
      try {
        const bytes = readFileSync(pathOf(sha));
        return sha256(bytes) === sha ? bytes : null;
      } catch (error) {
        if (errnoOf(error) === "ENOENT") return null;
        throw error;
      }
    },
    size: sizeOf,
    path: pathOf,
    list,
    bytes() {
      total ??= [...list().values()].reduce((sum, blob) => sum + blob.bytes, 0);
      return total;
    },
    remove(sha) {
      if (total !== null) total -= sizeOf(sha) ?? 0;
      rmSync(pathOf(sha), { force: true });
    },
  };
}

// --- internal ---

/** False when it was there already. What a crash left of a blob has another size, and is replaced. */
function store(path: string, bytes: Buffer): boolean {
  try {
    create(path, bytes);
    return true;
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
  if (statSync(path, { throwIfNoEntry: false })?.size === bytes.length) return false;
  replacing(path, (temporary) => create(temporary, bytes));
  return true;
}

function create(path: string, bytes: Buffer): void {
  const fd = openSync(path, "wx", 0o600);
  let written = false;
  try {
    writeFileSync(fd, bytes);
    written = true;
  } finally {
    closeSync(fd);
    if (!written) unlinkSync(path);
  }
}

function linkOrCopy(source: string, path: string): void {
  try {
    linkSync(source, path);
  } catch {
    // What is there is not whole, or the file system knows no links.
    replacing(path, (temporary) => copyFileSync(source, temporary));
  }
}

function replacing(path: string, make: (temporary: string) => void): void {
  const temporary = `${dirname(path)}/${temporaryName()}`;
  make(temporary);
  renameSync(temporary, path);
}
