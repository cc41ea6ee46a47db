import { randomBytes } from "node:crypto";
import { closeSync, fdatasync, fsync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { LIMITS } from "../limits.js";
import { createSlots, type OpenFiles } from "./open-files.js";

const fsyncAsync = promisify(fsync);
const fdatasyncAsync = promisify(fdatasync);

export type DiskSync = ReturnType<typeof createDiskSync>;

/** Forces written bytes to the disk without blocking the event loop, a few calls at a time. */
export function createDiskSync(openFiles: OpenFiles, inFlight: number = LIMITS.syncsInFlight) {
  const syncing = createSlots(inFlight);
  const byPath = (path: string): Promise<void> =>
    syncing(async () => {
      // The path was just written, so opening it waits for nothing: one trip to the thread pool in place of three.
      const fd = openFiles.withRoom(() => openSync(path, "r"));
      try {
        await fsyncAsync(fd);
      } finally {
        closeSync(fd);
      }
    });

  return {
    /** The written bytes of a file. Its descriptor is asked for when the call's turn has come. */
    data: (acquire: () => number) => syncing(async () => fdatasyncAsync(acquire())),
    /** A file or directory by its path: a name created or replaced survives only when its directory is synced too. */
    // Windows cannot sync a directory, nor a file it opened for reading.
    path: process.platform === "win32" ? async () => {} : byPath,
  };
}

/** Replaces a small file in one step: readers see the old text or the new one. With `disk` it is on disk when this resolves. */
export async function replaceFile(path: string, text: string, disk: DiskSync | null): Promise<void> {
  const temp = tempName(path);
  try {
    const fd = openSync(temp, "wx", 0o600);
    try {
      writeFileSync(fd, text);
      await disk?.data(() => fd);
    } finally {
      closeSync(fd);
    }
    await renameOver(temp, path);
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
  await disk?.path(dirname(path));
}

/** The same at once, without waiting for the disk, with what `write` puts into it. */
export function replaceFileSync(path: string, write: (fd: number) => void): void {
  const temp = tempName(path);
  try {
    const fd = openSync(temp, "wx", 0o600);
    try {
      write(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temp, path);
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
}

/** Replacements of a file that have not taken its place: one is being made, or its process was killed. */
export function listDrafts(path: string): string[] {
  const directory = dirname(path);
  const draft = `${basename(path)}${MARK}`;
  return readdirSync(directory)
    .filter((name) => name.startsWith(draft))
    .map((name) => join(directory, name));
}

// --- internal ---

const MARK = ".tmp-";

function tempName(path: string): string {
  return `${path}${MARK}${randomBytes(6).toString("hex")}`;
}

/** Not at once: file systems may write the new file out first, and a Windows scanner may hold the old one. */
async function renameOver(from: string, to: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await rename(from, to);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (process.platform !== "win32" || (code !== "EPERM" && code !== "EACCES") || attempt === 9) throw error;
      await delay(10 << attempt);
    }
  }
}
