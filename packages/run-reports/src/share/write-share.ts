import { randomBytes } from "node:crypto";
import { mkdir, open, realpath, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { ReportError } from "../errors.js";
import type { TranscriptFormat } from "../transcript/render.js";

/** A file name on every platform, with no way out of its directory. */
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$/;
/** What a disk, a quota or a file system says when it takes no more. */
const NO_ROOM = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/**
 * Writes `<root>/<id>.<format>`, readable by its owner alone, and returns the absolute path. It appears whole or not at all, and
 * replaces a link of that name rather than follow it.
 */
export async function writeShare(
  root: string,
  id: string,
  format: TranscriptFormat,
  chunks: AsyncIterable<string>,
): Promise<string> {
  if (!NAME.test(id)) throw new ReportError("not_found", "not a session id that a file can be named after");
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
    const directory = await realpath(root);
    const path = join(directory, `${id}.${format}`);
    const draft = join(directory, `.${id}.${randomBytes(6).toString("hex")}.tmp`);
    try {
      await writeNew(draft, chunks);
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    return path;
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? "unknown error";
    if (NO_ROOM.has(reason)) throw new ReportError("storage_full", "the disk is full", { cause: error });
    throw new ReportError("write_failed", `the share could not be written: ${reason}`, { cause: error });
  }
}

// --- internal ---

async function writeNew(path: string, chunks: AsyncIterable<string>): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    for await (const chunk of chunks) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}
