import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";
import { LIMITS } from "../limits.js";

/** Opens a regular file for reading; null for anything else: opening a pipe would wait for its writer. */
export function openRegular(path: string): { fd: number; size: number } | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (isImpostor(path, error as NodeJS.ErrnoException)) return null;
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    if (stats.isFile()) return { fd, size: stats.size };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  closeSync(fd);
  return null;
}

/** The text of a regular file of at most so many bytes; null for anything else. Throws what opening it throws. */
export function readRegular(path: string, maxBytes: number): string | null {
  const file = openRegular(path);
  if (file === null) return null;
  try {
    return file.size > maxBytes ? null : readFileSync(file.fd, "utf8");
  } finally {
    closeSync(file.fd);
  }
}

/** Memory to read through. Give it back with `takeChunkBack`. */
export function lendChunk(): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(LIMITS.readBytes);
}

export function takeChunkBack(chunk: Buffer): void {
  if (spare.length < LIMITS.readsInFlight) spare.push(chunk);
}

// --- internal ---

/** The memory that logs are read through, lent in turn: under load, fresh chunks would stay with the allocator. */
const spare: Buffer[] = [];

/** True for what no process can open: a socket, or a link that cannot be followed. */
function isImpostor(path: string, { code }: NodeJS.ErrnoException): boolean {
  return code === "ENXIO" || lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}
