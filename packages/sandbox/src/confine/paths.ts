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
  return existsSync(path) ? tried(() => realpathSync.native(path)) : undefined;
}

/** What the call gives; undefined where the system refuses it. */
export function tried<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}

/** True when this process has that access: one of the constants of `node:fs`. */
export function isPermitted(path: string, access: number): boolean {
  return tried(() => accessSync(path, access) ?? true) ?? false;
}

/** True when this process may read the file, or list or enter the directory. */
export function isReadable(path: string): boolean {
  return isPermitted(path, constants.R_OK) || isPermitted(path, constants.X_OK);
}

/** The entry itself (a link is not followed), or undefined when there is none. */
export function entryAt(path: string): Stats | undefined {
  return tried(() => lstatSync(path, { throwIfNoEntry: false }));
}

/** True for a file with nothing in it, and for a directory that this process may list and finds empty but for what counts for nothing. */
export function isEmpty(path: string, entry: Stats, countsForNothing = (_name: string) => false): boolean {
  if (!entry.isDirectory()) return entry.isFile() && entry.size === 0;
  return tried(() => readdirSync(path).every(countsForNothing)) ?? false;
}

/** A longer file of settings is somebody's trap. */
const MAX_READ = 64 * 1024;

/** The text of an ordinary file; undefined for one that cannot be read, or is made to trap its reader. */
export function readSmall(path: string): string | undefined {
  const entry = entryAt(path);
  return entry?.isFile() && entry.size <= MAX_READ ? tried(() => readFileSync(path, "utf8")) : undefined;
}
