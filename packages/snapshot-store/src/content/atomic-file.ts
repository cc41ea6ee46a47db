/** Small files that are replaced whole, so that a reader or a crash never meets half of one. */
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf } from "../errors.js";

let counter = 0;

/** A name no other writer uses. */
export function temporaryName(): string {
  counter += 1;
  return `.tmp-${process.pid}-${Date.now().toString(36)}-${counter}`;
}

/** Replaces a file; with `durable` it is on the disk when this returns. */
export function replaceFile(path: string, text: string, options?: { readonly durable?: boolean }): void {
  const directory = dirname(path);
  const temporary = `${directory}/${temporaryName()}`;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const fd = openSync(temporary, "wx", 0o600);
  try {
    try {
      writeFileSync(fd, text);
      if (options?.durable) fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  if (options?.durable) syncDirectory(directory);
}

/** The text of a file, null when there is none. */
export function readTextIfAny(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** Makes a rename or an unlink in a directory durable; a no-op on Windows, which has no such call. */
export function syncDirectory(path: string): void {
  if (process.platform === "win32") return;
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
