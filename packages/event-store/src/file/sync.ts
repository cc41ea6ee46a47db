import { close, fdatasync, fsync, open } from "node:fs";
import { promisify } from "node:util";
import { LIMITS } from "../limits.js";

/** Forces written bytes to the disk without blocking the event loop, a few calls at a time. */
export interface DiskSync {
  data(fd: number): Promise<void>;
  /** A file or directory by its path: a name created or replaced survives only when its directory is synced too. */
  path(path: string): Promise<void>;
}

const openAsync = promisify(open);
const closeAsync = promisify(close);
const fsyncAsync = promisify(fsync);
const fdatasyncAsync = promisify(fdatasync);

export function createDiskSync(inFlight: number = LIMITS.syncsInFlight): DiskSync {
  const waiting: (() => void)[] = [];
  let running = 0;

  const limited = async (call: () => Promise<void>): Promise<void> => {
    if (running < inFlight) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      await call();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };

  const byPath = (path: string): Promise<void> =>
    limited(async () => {
      const fd = await openAsync(path, "r");
      try {
        await fsyncAsync(fd);
      } finally {
        await closeAsync(fd);
      }
    });

  return {
    data: (fd) => limited(() => fdatasyncAsync(fd)),
    // Windows cannot sync a directory, nor a file it opened for reading.
    path: process.platform === "win32" ? async () => {} : byPath,
  };
}
