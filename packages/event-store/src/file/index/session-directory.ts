import { randomUUID } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, renameSync, rmSync, type Stats } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { StoreError, storageError } from "../../errors.js";
import { orElse } from "../../or-else.js";

/** True for a session's directory, false for a symbolic link to one: a write through it would land wherever it leads. */
export function isSessionDirectory(path: string): boolean {
  return entryAt(path)?.isDirectory() === true;
}

export type DraftDirectory = ReturnType<typeof draftSessionDirectory>;

/** Makes a session's directory under a hidden name. Throws `exists` when the session's name is taken, unless it `replaces`. */
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
    /** Its current path: the hidden one, and after `publish` its own. */
    get path() {
      return path;
    },
    /** The directories in which a name was created. */
    changed,
    /** Renames the draft in one step, after which the session exists. Throws `exists`. */
    publish,
    /** Replaces a session. The old one is put back when this fails, and by `sweepHidden` after a crash. */
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
      // Under the name of a deleted one from here on: whenever the new session goes, the old one does not come back.
      await removeSessionDirectory(aside, directory);
    },
    /** Removes the draft, unless it was published. */
    discard() {
      if (path !== directory) discard(path);
    },
  };
}

/** Removes a session, which may have another path than its own, in one step: renames it to a hidden name, then deletes the files. */
export async function removeSessionDirectory(path: string, directory = path): Promise<void> {
  const doomed = unseenName(directory, "deleted");
  renameSync(path, doomed);
  await rm(doomed, { recursive: true, force: true });
}

/** Throws `io` when a session's directory holds a file that this store did not write, so that no foreign file is ever removed. */
export function refuseForeign(directory: string): void {
  const foreign = readdirSync(directory).find((name) => !OWN_NAME.test(name));
  if (foreign === undefined) return;
  const what = `it holds ${foreign}, which is not part of a session`;
  throw new StoreError("io", `${directory} is not removed: ${what}; move that away first`);
}

// --- internal ---

const OWN_NAME =
  /^(?:event-\d+-[0-9a-f]{8}\.(?:nd)?json|(?:summary\.json|claim)(?:\.tmp-[0-9a-f]+)?|claim\.\d+|\.DS_Store|\.nfs\w+)$/;

/** The entry at a path; undefined when there is none, also below a path that is a file. */
function entryAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw storageError(error, `cannot look at ${path}`);
  }
}

/** A hidden name that no list shows; `sweepHidden` knows what to do with each. */
function unseenName(directory: string, why: "new" | "deleted" | "replaced"): string {
  return join(dirname(directory), `.${why}-${basename(directory)}-${randomUUID().slice(-8)}`);
}

/** Never throws: the caller has the error to report already. */
function discard(directory: string): void {
  // No list shows a hidden name, so what is left is harmless.
  orElse(() => rmSync(directory, { recursive: true, force: true }), undefined);
}

/** Makes a directory and its missing parents. Returns the directories in which a name was created. */
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
