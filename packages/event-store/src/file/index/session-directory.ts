import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, renameSync, rmSync, type Stats } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { StoreError, storageError } from "../../errors.js";

/** True for a session's directory. Not for a link to one: a write through it would land wherever it leads. */
export function isSessionDirectory(path: string): boolean {
  return entryAt(path)?.isDirectory() === true;
}

export type DraftDirectory = ReturnType<typeof draftSessionDirectory>;

/** Throws `exists` when the name is taken, unless it is to be replaced. */
export function draftSessionDirectory(directory: string, { replaces = false } = {}) {
  const id = basename(directory);
  const refuseTaken = (): void => {
    if (entryAt(directory) === undefined) return;
    throw new StoreError("exists", `session ${id} exists`);
  };
  if (!replaces) refuseTaken();
  const failed = (error: unknown): StoreError => storageError(error, `cannot create session ${id}`);
  let path = unseenName(directory, "new");
  let changed: string[];
  try {
    changed = makeDirectory(path);
  } catch (error) {
    throw failed(error);
  }
  const publish = (): void => {
    try {
      renameSync(path, directory);
      path = directory;
    } catch (error) {
      refuseTaken();
      throw failed(error);
    }
  };
  return {
    /** Where it is now: its draft's name, then its own. */
    get path() {
      return path;
    },
    /** The directories that got a new name in them. */
    changed,
    /** Gives it its own name in one step: from then on there is a session. Throws `exists`. */
    publish,
    /** Takes the place of a session. That one comes back when this fails, and after a crash by `restoreReplaced`. */
    async replace() {
      if (entryAt(directory) === undefined) return publish();
      const aside = unseenName(directory, "replaced");
      renameSync(directory, aside);
      try {
        publish();
      } catch (error) {
        renameSync(aside, directory);
        throw error;
      }
      await rm(aside, { recursive: true, force: true });
    },
    /** Removes it, unless it has its name already. */
    discard() {
      if (path !== directory) discard(path);
    },
  };
}

/** Gives sessions their name back that a crash left aside while they were replaced, and removes those replaced. Counts both. */
export function restoreReplaced(eventlog: string, now: number): number {
  if (entryAt(eventlog) === undefined) return 0;
  let found = 0;
  for (const name of readdirSync(eventlog)) {
    const id = /^\.replaced-(.+)-[0-9a-f]{8}$/.exec(name)?.[1];
    const aside = join(eventlog, name);
    // A young one may be at its step this moment.
    if (id === undefined || now - (entryAt(aside)?.ctimeMs ?? 0) < SETTLED_MS) continue;
    found++;
    if (entryAt(join(eventlog, id)) === undefined) renameSync(aside, join(eventlog, id));
    else discard(aside);
  }
  return found;
}

/** Gone in one step; what takes longer happens under a name nobody lists. */
export async function removeSessionDirectory(directory: string): Promise<void> {
  const doomed = unseenName(directory, "deleted");
  renameSync(directory, doomed);
  await rm(doomed, { recursive: true, force: true });
}

/** A home may be anybody's directory: a session's is removed only when everything in it is what this store writes. Throws `io`. */
export function refuseForeign(directory: string): void {
  const foreign = readdirSync(directory).find((name) => !OWN_NAME.test(name));
  if (foreign === undefined) return;
  const what = `it holds ${foreign}, which is not part of a session`;
  throw new StoreError("io", `${directory} is not removed: ${what}; move that away first`);
}

// --- internal ---

const SETTLED_MS = 60_000;
const OWN_NAME =
  /^(?:event-\d+-[0-9a-f]{8}\.(?:nd)?json|(?:summary\.json|claim)(?:\.tmp-[0-9a-f]+)?|claim\.\d+|\.DS_Store|\.nfs\w+)$/;

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
function unseenName(directory: string, why: "new" | "deleted" | "replaced"): string {
  return join(dirname(directory), `.${why}-${basename(directory)}-${randomBytes(4).toString("hex")}`);
}

/** Never throws: the error that made the removal necessary is the one to report. */
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
