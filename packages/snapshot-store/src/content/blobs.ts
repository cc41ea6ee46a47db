/** Content by its SHA-256: each version of a file is stored once, and is checked against its name when it is read. */
import { createHash } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
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

/** `fanOut` spreads blobs over 256 directories, for stores that hold a whole workspace. */
export function createBlobs(directory: string, options?: { readonly fanOut?: boolean }): Blobs {
  const fanOut = options?.fanOut ?? false;
  const made = new Set<string>();
  /** Null until somebody asks. */
  let total: number | null = null;

  function pathOf(sha: string): string {
    return fanOut ? `${directory}/${sha.slice(0, 2)}/${sha}` : `${directory}/${sha}`;
  }

  function prepare(path: string): void {
    const parent = dirname(path);
    if (made.has(parent)) return;
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    made.add(parent);
  }

  function sizeOf(sha: string): number | null {
    return statSync(pathOf(sha), { throwIfNoEntry: false })?.size ?? null;
  }

  function list(): Map<string, BlobStat> {
    const found = new Map<string, BlobStat>();
    for (const parent of fanOut ? namesIn(directory).map((name) => `${directory}/${name}`) : [directory]) {
      for (const name of namesIn(parent)) {
        const stat = statSync(`${parent}/${name}`, { throwIfNoEntry: false });
        if (stat?.isFile()) found.set(name, { bytes: stat.size, mtimeMs: stat.mtimeMs });
      }
    }
    return found;
  }

  /** A removed directory is made again; `clear` and `gc` of another process may have taken it. */
  function retrying(path: string, write: () => void): void {
    prepare(path);
    try {
      write();
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
      made.delete(dirname(path));
      prepare(path);
      write();
    }
  }

  return {
    put(sha, bytes) {
      if (sizeOf(sha) === bytes.length) return;
      const path = pathOf(sha);
      retrying(path, () => writeWhole(path, bytes));
      if (total !== null) total += bytes.length;
    },
    adopt(sha, from) {
      if (sizeOf(sha) !== null) return true;
      const bytes = from.size(sha);
      if (bytes === null) return false;
      const path = pathOf(sha);
      retrying(path, () => linkOrCopy(from.path(sha), path));
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

function writeWhole(path: string, bytes: Buffer): void {
  const temporary = `${dirname(path)}/${temporaryName()}`;
  const fd = openSync(temporary, "wx", 0o600);
  try {
    writeFileSync(fd, bytes);
    closeSync(fd);
  } catch (error) {
    closeSync(fd);
    unlinkSync(temporary);
    throw error;
  }
  renameSync(temporary, path);
}

function linkOrCopy(source: string, path: string): void {
  try {
    linkSync(source, path);
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return;
    const temporary = `${dirname(path)}/${temporaryName()}`;
    copyFileSync(source, temporary);
    renameSync(temporary, path);
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return [];
    throw error;
  }
}
