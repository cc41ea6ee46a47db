/** Which paths belong to a workspace, by their real location. */
import { realpathSync } from "node:fs";
import { basename, dirname, resolve, sep } from "node:path";
import { orElse, SnapshotError, unless } from "../errors.js";
import type { SnapshotWorkspace } from "../types.js";
import { fsPath, textOfBytes } from "./path-bytes.js";

export type Roots = ReturnType<typeof createRoots>;

export function createRoots(workspace: SnapshotWorkspace, ownData: readonly string[]) {
  const cwd = realOr(resolve(workspace.cwd));
  const all = [cwd, ...workspace.directories.map((directory) => realOr(resolve(cwd, directory)))];
  /** Whether a canonical path lies in the store's own data. */
  const isOwn = (path: string) => ownData.some((own) => path === own || isInside(own, path));
  const paths = [...new Set(all)].filter(
    (path) => !isOwn(path) && !all.some((other) => other !== path && isInside(other, path)),
  );
  return {
    cwd,
    /** Real paths; none lies inside another, or in the store's own data. */
    paths,
    isOwn,
    /** Where a path really is: parents resolved, the last component not followed. */
    canonical(path: string) {
      if (path.includes("\0")) throw new SnapshotError("io", "a path cannot contain NUL");
      return canonicalPath(resolve(cwd, path));
    },
    /** The root that holds a canonical path and the components below it; null outside, and inside the store's own data. */
    locate(canonical: string) {
      if (isOwn(canonical)) return null;
      const root = paths.find((candidate) => isInside(candidate, canonical));
      if (root === undefined) return null;
      const parts = canonical.slice(root === "/" ? 1 : root.length + 1).split(sep);
      return parts.every((part) => part !== "" && part !== "." && part !== "..") ? { root, parts } : null;
    },
  };
}

/** True when `path` lies strictly below `root`, by text. */
export function isInside(root: string, path: string): boolean {
  return path.length > root.length && path.startsWith(root === sep ? sep : root + sep);
}

// --- internal ---

function canonicalPath(path: string): string {
  const missing: string[] = [basename(path)];
  let parent = dirname(path);
  for (;;) {
    const real = unless(["ENOENT", "ENOTDIR"], () => realPath(parent));
    if (real !== null) return resolve(real, ...missing);
    missing.unshift(basename(parent));
    parent = dirname(parent);
  }
}

function realOr(path: string): string {
  return orElse(() => realPath(path), path);
}

function realPath(path: string): string {
  return textOfBytes(realpathSync.native(fsPath(path), { encoding: "buffer" }));
}
