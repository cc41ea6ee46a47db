import { randomBytes } from "node:crypto";
import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * A readable descriptor that holds `bytes` from offset 0, for `bwrap --seccomp FD`. The file behind it has no name any more when
 * this returns, so nobody else can open or change it. The caller closes it.
 */
export function openBytes(bytes: Buffer): number {
  const path = join(tmpdir(), `seccomp-${randomBytes(12).toString("hex")}`);
  const fd = openSync(path, "wx+", 0o600);
  try {
    unlinkSync(path);
    // A positioned write leaves the offset, which the child shares, at the start.
    writeSync(fd, bytes, 0, bytes.length, 0);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
