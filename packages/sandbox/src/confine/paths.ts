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

/**
 * Whether `path` is `root` or is below it. Both must be absolute and resolved.
 *
 * @example
 * isInside("/work/project/src", "/work/project"); // true
 * isInside("/work/project-2", "/work/project"); // false
 */
export function isInside(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** The innermost of `places`, sorted by depth, that contains another place. */
export function enclosing<Outer extends { readonly path: string }>(
  inner: { readonly path: string },
  places: readonly Outer[],
): Outer | undefined {
  return places.findLast(({ path }) => path !== inner.path && isInside(inner.path, path));
}

/** The path with its links resolved; undefined when it does not exist. */
export function realPath(path: string): string | undefined {
  // Most paths of a plan do not exist, and a thrown error costs ten times as much as this check.
  return existsSync(path) ? tried(() => realpathSync.native(path)) : undefined;
}

/** The result of a call; undefined when it throws. */
export function tried<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}

/** Whether this process has an access, given as one of the constants of `node:fs`. */
export function isPermitted(path: string, access: number): boolean {
  return tried(() => accessSync(path, access) ?? true) ?? false;
}

/** Whether this process may read the file, or list or enter the directory. */
export function isReadable(path: string): boolean {
  return isPermitted(path, constants.R_OK) || isPermitted(path, constants.X_OK);
}

/** The entry itself, without following a link; undefined when it does not exist. */
export function entryAt(path: string): Stats | undefined {
  return tried(() => lstatSync(path, { throwIfNoEntry: false }));
}

/** True for an empty file, and for a directory that can be listed and has only names that `countsForNothing` accepts. */
export function isEmpty(path: string, entry: Stats, countsForNothing = (_name: string) => false): boolean {
  if (!entry.isDirectory()) return entry.isFile() && entry.size === 0;
  return tried(() => readdirSync(path).every(countsForNothing)) ?? false;
}

/** Most bytes of a settings file. A larger one is hostile. */
const MAX_READ = 64 * 1024;

/** The text of a small regular file; undefined for any other file, which may be made to block or overload a reader. */
export function readSmall(path: string): string | undefined {
  const entry = entryAt(path);
  return entry?.isFile() && entry.size <= MAX_READ ? tried(() => readFileSync(path, "utf8")) : undefined;
}
