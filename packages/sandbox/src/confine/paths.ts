import { accessSync, constants, lstatSync, realpathSync, type Stats } from "node:fs";
import { isAbsolute, relative, sep } from "node:path";

/** True when `path` is `root` or lies below it; both absolute and resolved. */
export function isInside(path: string, root: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** The path without symbolic links, or undefined when it leads nowhere. */
export function realPath(path: string): string | undefined {
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
    return lstatSync(path);
  } catch {
    return undefined;
  }
}
