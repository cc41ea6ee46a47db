import { randomBytes } from "node:crypto";
import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Gives readable descriptors that hold `bytes` from offset 0, for `bwrap --seccomp FD`; the caller closes each. The file behind
 * them is written once and has no name any more, so nobody else can open or change it; it stays open while the process lives.
 */
export function descriptorsOf(bytes: Buffer): () => number {
  let source: number | undefined;
  return () => {
    source ??= namelessFile(bytes);
    // Opened anew rather than duplicated: a duplicate would share its offset with the child that read the one before.
    return openSync(`/proc/self/fd/${source}`, "r");
  };
}

// --- internal ---

function namelessFile(bytes: Buffer): number {
  const path = join(tmpdir(), `seccomp-${randomBytes(12).toString("hex")}`);
  const fd = openSync(path, "wx+", 0o600);
  try {
    unlinkSync(path);
    writeSync(fd, bytes);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
