import { randomBytes } from "node:crypto";
import { accessSync, closeSync, constants, openSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Gives descriptors that hold `bytes`; the caller closes each. Their file has no name, so nobody can change it. */
export function descriptorsOf(bytes: Buffer): () => number {
  let source: number | undefined;
  return () => {
    source ??= namelessFile(bytes);
    // Opened anew rather than duplicated: a duplicate would share its offset with the child that read the one before.
    return openSync(`/proc/self/fd/${source}`, "r");
  };
}

// --- internal ---

/** Some hosts let nobody run what lies in `/tmp`. */
const PLACES = ["/var/tmp", "/dev/shm", "/run/shm"];

/** In the first place whose files may be run, as a file of bytes may be a program; in the temporary directory where none is. */
function namelessFile(bytes: Buffer): number {
  const preferred = tmpdir();
  for (const place of [preferred, ...PLACES]) {
    try {
      return writtenOnce(place, bytes, constants.X_OK);
    } catch {
      // Not here: it does not exist, is full, or forbids it.
    }
  }
  return writtenOnce(preferred, bytes, constants.R_OK);
}

/** Opened for reading only: the kernel runs no file that somebody could still write. */
function writtenOnce(place: string, bytes: Buffer, access: number): number {
  const path = join(place, `seccomp-${randomBytes(12).toString("hex")}`);
  const fd = openSync(path, "wx", 0o555);
  try {
    writeSync(fd, bytes);
    accessSync(path, access);
    return openSync(path, "r");
  } finally {
    closeSync(fd);
    unlinkSync(path);
  }
}
