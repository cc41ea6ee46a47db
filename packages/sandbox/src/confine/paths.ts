import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  type Stats,
} from "node:fs";
import { sep } from "node:path";

/** True when `path` is `root` or lies below it; both absolute and resolved. */
export function isInside(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** The innermost of `places`, which are sorted by depth, that lies around another. */
export function enclosing<Outer extends { readonly path: string }>(
  inner: { readonly path: string },
  places: readonly Outer[],
): Outer | undefined {
  return places.findLast(({ path }) => path !== inner.path && isInside(inner.path, path));
}

/** The path without symbolic links, or undefined when it leads nowhere. */
export function realPath(path: string): string | undefined {
  // Most of the places a plan asks about do not exist, and a thrown error costs ten times the look.
  if (!existsSync(path)) return undefined;
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/** True when this process may read the file, or list or enter the directory. */
export function isReadable(path: string): boolean {
  return [constants.R_OK, constants.X_OK].some((access) => {
    try {
      accessSync(path, access);
      return true;
    } catch {
      return false;
    }
  });
}

/** The entry itself (a link is not followed), or undefined when there is none. */
export function entryAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** True for a file with nothing in it, and for a directory that this process may list and finds empty but for what counts for nothing. */
export function isEmpty(path: string, entry: Stats, countsForNothing = (_name: string) => false): boolean {
  if (!entry.isDirectory()) return entry.isFile() && entry.size === 0;
  try {
    return readdirSync(path).every(countsForNothing);
  } catch {
    return false;
  }
}

/** A longer file of settings is somebody's trap. */
const MAX_READ = 64 * 1024;

/** The text of an ordinary file; undefined for one that cannot be read, or is made to trap its reader. */
export function readSmall(path: string): string | undefined {
  try {
    const entry = entryAt(path);
    return entry?.isFile() && entry.size <= MAX_READ ? readFileSync(path, "utf8") : undefined;
  } catch {
    return undefined;
  }
}
