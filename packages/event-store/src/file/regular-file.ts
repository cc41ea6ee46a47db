import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";
import { LIMITS } from "../limits.js";

/** Opens a regular file for reading without ever blocking, as on a pipe. Null for anything else. */
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

/** The text of a regular file of at most `maxBytes`; null for anything else. Throws the errors of opening it. */
export function readRegular(path: string, maxBytes: number): string | null {
  const file = openRegular(path);
  if (file === null) return null;
  try {
    return file.size > maxBytes ? null : readFileSync(file.fd, "utf8");
  } finally {
    closeSync(file.fd);
  }
}

/** Lends a buffer to read through. Give it back with `takeChunkBack`. */
export function lendChunk(): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(LIMITS.readBytes);
}

export function takeChunkBack(chunk: Buffer): void {
  if (spare.length < LIMITS.readsInFlight) spare.push(chunk);
}

// --- internal ---

/** The buffers that reads borrow in turn: under load the allocator would not return fresh ones to the system. */
const spare: Buffer[] = [];

/** True when no process can open the path: it is a socket, or a link that cannot be followed. */
function isImpostor(path: string, { code }: NodeJS.ErrnoException): boolean {
  return code === "ENXIO" || lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}
