/** How a store uses the disk: a bounded number of open files, syncs that do not block the event loop, and atomic replacement of files. */
import { randomUUID } from "node:crypto";
import { closeSync, fdatasync, fsync, open, openSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { LIMITS } from "../limits.js";

const openAsync = promisify(open);
const fsyncAsync = promisify(fsync);
const fdatasyncAsync = promisify(fdatasync);

export type OpenFiles = ReturnType<typeof createOpenFiles>;

/** A bounded set of open files for the sessions of this process. */
export function createOpenFiles() {
  // In order of last use: a Map iterates as it was filled.
  const held = new Map<object, { readonly fd: number; pins: number; dropped: boolean }>();

  const closeIdle = (): boolean => {
    for (const [key, file] of held) {
      if (file.pins > 0) continue;
      held.delete(key);
      closeSync(file.fd);
      return true;
    }
    return false;
  };

  /** If the error is a lack of descriptors, closes half of the idle files, at least one. True if it closed any. */
  const makeRoom = (error: unknown): boolean => {
    const { code, cause } = error as NodeJS.ErrnoException;
    const reason = code === "io" ? (cause as NodeJS.ErrnoException | undefined)?.code : code;
    if (reason !== "EMFILE" && reason !== "ENFILE") return false;
    let closed = false;
    for (let rest = Math.ceil(held.size / 2); rest > 0 && closeIdle(); rest--) closed = true;
    return closed;
  };

  /** Runs work that opens files of its own; when the process is out of descriptors, closes idle ones and tries again. */
  const withRoom = <T>(work: () => T): T => {
    for (;;) {
      try {
        return work();
      } catch (error) {
        if (!makeRoom(error)) throw error;
      }
    }
  };

  return {
    /** The descriptor of this key, opened if it is not open. May close the least recently used one. */
    use(key: object, open: () => number) {
      let file = held.get(key);
      if (file !== undefined) held.delete(key);
      else {
        while (held.size >= LIMITS.openFiles && closeIdle()) {}
        file = { fd: withRoom(open), pins: 0, dropped: false };
      }
      held.set(key, file);
      return file.fd;
    },
    /** Protects the descriptor of a key from being closed for room while an asynchronous call uses it. */
    pin(key: object) {
      const file = held.get(key);
      if (file !== undefined) file.pins++;
    },
    unpin(key: object) {
      const file = held.get(key);
      if (file === undefined) return;
      file.pins--;
      if (file.dropped && file.pins === 0) {
        held.delete(key);
        closeSync(file.fd);
      }
    },
    /** Closes the key's descriptor, at once or when it is unpinned. */
    drop(key: object) {
      const file = held.get(key);
      if (file === undefined) return;
      file.dropped = true;
      if (file.pins > 0) return;
      held.delete(key);
      closeSync(file.fd);
    },
    withRoom,
    async withRoomAsync<T>(work: () => Promise<T>): Promise<T> {
      for (;;) {
        try {
          return await work();
        } catch (error) {
          if (!makeRoom(error)) throw error;
        }
      }
    },
    /** Runs a read of a replay, a few at a time. */
    reading: createSlots(LIMITS.readsInFlight),
    /** Runs the replacement of a file, a few at a time. */
    replacing: createSlots(LIMITS.replacements),
  };
}

export type DiskSync = ReturnType<typeof createDiskSync>;

/** Forces written bytes to the disk without blocking the event loop, a few calls at a time. */
export function createDiskSync(openFiles: OpenFiles, inFlight: number = LIMITS.syncsInFlight) {
  const syncing = createSlots(inFlight);
  /** Syncs that wait for a slot, by path. A caller shares one that has not begun: it covers what the caller has written. */
  const waiting = new Map<string, Promise<void>>();
  const byPath = (path: string): Promise<void> => {
    const shared = waiting.get(path);
    if (shared !== undefined) return shared;
    let hasBegun = false;
    const sync = syncing(async () => {
      hasBegun = true;
      waiting.delete(path);
      // The file was just written, so opening it does not block: this makes one trip to the thread pool instead of three.
      const fd = openFiles.withRoom(() => openSync(path, "r"));
      try {
        await fsyncAsync(fd);
      } finally {
        closeSync(fd);
      }
    });
    if (!hasBegun) waiting.set(path, sync);
    return sync;
  };

  return {
    /** Syncs the written bytes of a file. `acquire` is called for the descriptor when the call has its slot. */
    data: (acquire: () => number) => syncing(async () => fdatasyncAsync(acquire())),
    /** Syncs a file or directory by its path: a created or replaced name survives only when its directory is synced too. */
    // Windows cannot sync a directory, nor a file it opened for reading.
    path: process.platform === "win32" ? async () => {} : byPath,
  };
}

/** Replaces a small file in one step: readers see the old text or the new one. With `disk` the new one is on disk when this resolves. */
export async function replaceFile(path: string, text: string, disk: DiskSync | null): Promise<void> {
  const temp = tempName(path);
  try {
    // Creating the file takes longest, so that is asynchronous. The bytes then only go to the system's cache.
    const fd = await openAsync(temp, "wx", 0o600);
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

/**
 * Replaces a file that only its owner can read, synchronously and without syncing it: after a crash of the machine the old one may be
 * back. A function writes the content itself.
 *
 * @example
 * replaceFileSync(join(directory, "answers.json"), JSON.stringify(answers));
 */
export function replaceFileSync(path: string, content: string | ((fd: number) => void)): void {
  const temp = tempName(path);
  try {
    const fd = openSync(temp, "wx", 0o600);
    try {
      if (typeof content === "string") writeFileSync(fd, content);
      else content(fd);
    } finally {
      closeSync(fd);
    }
    renameOverSync(temp, path);
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
}

/** Temporary files of replacements that have not been renamed over the file: one is being written, or its process was killed. */
export function listDrafts(path: string): string[] {
  const directory = dirname(path);
  const draft = `${basename(path)}${MARK}`;
  return readdirSync(directory)
    .filter((name) => name.startsWith(draft))
    .map((name) => join(directory, name));
}

// --- internal ---

/** Stands between the name of a file and the random end of the name of its draft. */
const MARK = ".tmp-";

function tempName(path: string): string {
  // Node draws the bytes of many UUIDs at once; asking for six bytes takes a tenth of a millisecond.
  return `${path}${MARK}${randomUUID().slice(-12)}`;
}

/** Whether another attempt to rename may succeed: on Windows a scanner or a reader may hold the old file for a moment. */
function mayPass(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return process.platform === "win32" && (code === "EPERM" || code === "EACCES");
}

/** Returns a function that runs at most `count` pieces of work at a time; the others wait in line. */
function createSlots(count: number) {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (taken < count) taken++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) taken--;
      else next();
    }
  };
}

/** Asynchronous, since a file system may write the new file out first. */
async function renameOver(from: string, to: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await rename(from, to);
    } catch (error) {
      if (!mayPass(error) || attempt === 9) throw error;
      await delay(10 << attempt);
    }
  }
}

function renameOverSync(from: string, to: string): void {
  for (let attempt = 0; ; attempt++) {
    try {
      renameSync(from, to);
      return;
    } catch (error) {
      if (!mayPass(error) || attempt === 20) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}
