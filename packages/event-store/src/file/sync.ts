import { closeSync, fdatasync, fsync, openSync } from "node:fs";
import { promisify } from "node:util";
import { LIMITS } from "../limits.js";
import { createSlots, type OpenFiles } from "./open-files.js";

/** Forces written bytes to the disk without blocking the event loop, a few calls at a time. */
export interface DiskSync {
  /** The written bytes of a file. Its descriptor is asked for when the call's turn has come. */
  data(acquire: () => number): Promise<void>;
  /** A file or directory by its path: a name created or replaced survives only when its directory is synced too. */
  path(path: string): Promise<void>;
}

const fsyncAsync = promisify(fsync);
const fdatasyncAsync = promisify(fdatasync);

export function createDiskSync(openFiles: OpenFiles, inFlight: number = LIMITS.syncsInFlight): DiskSync {
  const slots = createSlots(inFlight);
  const byPath = (path: string): Promise<void> =>
    slots.run(async () => {
      // The path was just written, so opening it waits for nothing: one trip to the thread pool in place of three.
      const fd = openFiles.withRoom(() => openSync(path, "r"));
      try {
        await fsyncAsync(fd);
      } finally {
        closeSync(fd);
      }
    });

  return {
    data: (acquire) => slots.run(async () => fdatasyncAsync(acquire())),
    // Windows cannot sync a directory, nor a file it opened for reading.
    path: process.platform === "win32" ? async () => {} : byPath,
  };
}
