import { accessSync, constants, readFileSync, type Stats } from "node:fs";
import type { Mount } from "./mount-plan.js";
import { enclosing, entryAt } from "./paths.js";
import type { Place } from "./place.js";

/** The file systems that somebody mounted at or in the writable ones of `mounts`, as a container's volumes are. */
export function findVolumes(mounts: readonly Mount[]): Place[] {
  if (!mounts.some(({ view }) => view === "write")) return [];
  const isWritable = (path: string): boolean => {
    const planned = mounts.find((mount) => mount.path === path) ?? enclosing({ path }, mounts);
    return planned?.view === "write";
  };
  // Nothing else is looked at: the look at a server that does not answer would not end.
  return [...new Set(mountPoints())].filter(isWritable).flatMap((path) => {
    const entry = entryAt(path);
    return entry && canEnter(path, entry) ? [{ path, kind: entry.isDirectory() ? "directory" : "file" }] : [];
  });
}

// --- internal ---

/** The kernel writes blanks, line ends and backslashes by their numbers. */
function mountPoints(): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .trim()
    .split("\n")
    .map((line) => (line.split(" ", 5)[4] ?? "").replace(/\\([0-7]{3})/g, (_, digits) => character(digits)));
}

function character(digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 8));
}

function canEnter(path: string, entry: Stats): boolean {
  try {
    accessSync(path, entry.isDirectory() ? constants.X_OK : constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
