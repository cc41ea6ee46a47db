/** Replaces small files atomically, so that neither a reader nor a crash leaves half of one. */
import {
  closeSync,
  fsync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { unless } from "../errors.js";
import { atOnce, createPacer, paced, type Steps } from "../pacer.js";
import { fillingNew } from "./pieces.js";

const syncToDisk = promisify(fsync);
let counter = 0;

/** A unique name for a temporary file. */
export function temporaryName(): string {
  counter += 1;
  return `.tmp-${process.pid}-${Date.now().toString(36)}-${counter}`;
}

export function replaceFile(path: string, text: string): void {
  atOnce(replacingFile(path, [text]));
}

/** Replaces a file with a text in pieces. */
export function* replacingFile(path: string, pieces: Iterable<string>): Steps<void> {
  const temporary = yield* writingTemporary(path, pieces);
  rename(temporary, path);
}

/** Replaces a file and syncs it before it resolves, without blocking other work while it waits for the disk. */
export async function replaceDurably(path: string, pieces: Iterable<string>): Promise<void> {
  const temporary = await paced(writingTemporary(path, pieces), createPacer());
  try {
    await syncPath(temporary, "r+");
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  rename(temporary, path);
  await syncDirectory(dirname(path));
}

/** The text of a file, null when there is none. */
export function readTextIfAny(path: string): string | null {
  // Most sessions have none of these files, and `stat` costs less than an exception.
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return null;
  return unless(["ENOENT"], () => readFileSync(path, "utf8"));
}

/** The names in a directory; none when there is no such directory. */
export function namesIn(directory: string): string[] {
  return unless(["ENOENT", "ENOTDIR"], () => readdirSync(directory)) ?? [];
}

/** Makes a rename or an unlink in a directory durable; a no-op on Windows, which has no such call. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform !== "win32") await syncPath(path, "r");
}

// --- internal ---

function* writingTemporary(path: string, pieces: Iterable<string>): Steps<string> {
  const directory = dirname(path);
  const temporary = `${directory}/${temporaryName()}`;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  yield* fillingNew(temporary, openSync(temporary, "wx", 0o600), encoded(pieces));
  return temporary;
}

function* encoded(pieces: Iterable<string>): Iterable<Buffer> {
  for (const piece of pieces) yield Buffer.from(piece);
}

function rename(temporary: string, path: string): void {
  try {
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

async function syncPath(path: string, flags: string): Promise<void> {
  const fd = openSync(path, flags);
  try {
    await syncToDisk(fd);
  } finally {
    closeSync(fd);
  }
}
