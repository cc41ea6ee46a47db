/** Open files on their way to the disk, many at once, since a file system commits many for the price of one. */
import { closeSync, fsync } from "node:fs";
import { promisify } from "node:util";

const SYNCED_AT_ONCE = 32;
const syncToDisk = promisify(fsync);

export function createSyncBatch() {
  let waiting: number[] = [];

  async function end(): Promise<void> {
    const fds = waiting;
    waiting = [];
    // All of them, though one fails: a file that is closed while it is synced may be another one by then.
    const results = await Promise.allSettled(fds.map((fd) => syncToDisk(fd)));
    for (const fd of fds) closeSync(fd);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  return {
    /** Takes over an open file: it will be synced and closed. */
    async add(fd: number) {
      waiting.push(fd);
      if (waiting.length >= SYNCED_AT_ONCE) await end();
    },
    /** Everything added is on the disk when this resolves. */
    end,
    /** Closes what is still open. */
    abandon() {
      for (const fd of waiting.splice(0)) closeSync(fd);
    },
  };
}
