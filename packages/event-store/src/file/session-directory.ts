import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, renameSync, rmSync, type Stats } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { StoreError, storageError } from "../errors.js";

/** True for a session's directory. Not for a link to one: what is written behind it would land wherever it leads. */
export function isSessionDirectory(path: string): boolean {
  return entryAt(path)?.isDirectory() === true;
}

/**
 * Makes a session's directory, which appears in one step with all that `fill` puts into it: whoever gives it its name has created
 * the session. `changed` are the directories that got a new name in them. Throws `exists`.
 */
export function makeSessionDirectory<T>(
  directory: string,
  fill: (unseen: string) => T,
): { filled: T; changed: string[] } {
  const id = basename(directory);
  const refuseTaken = (): void => {
    if (entryAt(directory) === undefined) return;
    throw new StoreError("exists", `session ${id} exists`);
  };
  refuseTaken();
  const unseen = unseenName(directory, "new");
  try {
    const changed = makeDirectory(unseen);
    const filled = fill(unseen);
    renameSync(unseen, directory);
    return { filled, changed };
  } catch (error) {
    discard(unseen);
    refuseTaken();
    throw storageError(error, `cannot create session ${id}`);
  }
}

/** Gone in one step; what takes longer happens under a name nobody lists. */
export async function removeSessionDirectory(directory: string): Promise<void> {
  const doomed = unseenName(directory, "deleted");
  renameSync(directory, doomed);
  await rm(doomed, { recursive: true, force: true });
}

// --- internal ---

/** What has this name; nothing has one below a file. */
function entryAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw storageError(error, `cannot look at ${path}`);
  }
}

/** A name that no list shows. */
function unseenName(directory: string, why: "new" | "deleted"): string {
  return join(dirname(directory), `.${why}-${basename(directory)}-${randomBytes(4).toString("hex")}`);
}

/** What cannot be removed is no reason to hide why it has to be. */
function discard(directory: string): void {
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch {
    // Nobody sees the name, and the next collection of garbage tries again.
  }
}

/** Makes a directory, and its parents where there are none. Returns the directories that got a new name in them. */
function makeDirectory(directory: string): string[] {
  const parent = dirname(directory);
  try {
    mkdirSync(directory, { mode: 0o700 });
    return [parent];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const first = mkdirSync(parent, { recursive: true, mode: 0o700 }) ?? directory;
  const changed = makeDirectory(directory);
  for (let made = parent; made.length >= first.length; made = dirname(made)) changed.push(dirname(made));
  return changed;
}
