/** Replaces a file in one step: a reader sees the old file or the new one. */
import { randomUUID } from "node:crypto";
import { closeSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** Stands between the name of a file and the random end of the name of its draft. */
export const MARK = ".tmp-";

export function tempName(path: string): string {
  // Node draws the bytes of many UUIDs at once; asking for six bytes takes a tenth of a millisecond.
  return `${path}${MARK}${randomUUID().slice(-12)}`;
}

/** Whether another attempt to rename may succeed: on Windows a scanner or a reader may hold the old file for a moment. */
export function mayPass(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return process.platform === "win32" && (code === "EPERM" || code === "EACCES");
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
    renameOver(temp, path);
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
}

// --- internal ---

function renameOver(from: string, to: string): void {
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
