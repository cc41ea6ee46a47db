/**
 * What was read from files, kept while none of them has changed. Looking costs a stat for each, where reading costs a turn
 * milliseconds before its first word.
 */
import { readdirSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";

/** Directories count with the files directly in them. One value is kept per key, for the keys used last. */
export function whileUnchanged<T>(
  maxKeys = 32,
): (key: string, pathsOf: () => readonly string[], load: () => Promise<T>) => Promise<T> {
  const kept = new Map<string, Kept<T>>();
  return (key, pathsOf, load) => {
    const known = kept.get(key);
    const paths = known?.paths ?? pathsOf();
    const look = paths.map(lookAt).join("\n");
    kept.delete(key);
    const entry = known?.look === look ? known : { paths, look, value: load() };
    kept.set(key, entry);
    entry.value.catch(() => kept.delete(key));
    for (const oldest of kept.keys()) {
      if (kept.size <= maxKeys) break;
      kept.delete(oldest);
    }
    return entry.value;
  };
}

// --- internal ---

/** More than are read of any directory. */
const MAX_ENTRIES = 1000;

interface Kept<T> {
  readonly paths: readonly string[];
  readonly look: string;
  readonly value: Promise<T>;
}

/** What cannot be looked at (a link to itself, a directory that is a file) is as good as not there. */
function lookAt(path: string): string {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found?.isDirectory()) return marks(found);
    return readdirSync(path)
      .sort()
      .slice(0, MAX_ENTRIES)
      .map((name) => `${name} ${lookAtEntry(join(path, name))}`)
      .join("\n");
  } catch {
    return marks(undefined);
  }
}

function lookAtEntry(path: string): string {
  try {
    return marks(statSync(path, { throwIfNoEntry: false }));
  } catch {
    return marks(undefined);
  }
}

function marks(found: Stats | undefined): string {
  return found ? `${found.ino}:${found.size}:${found.mtimeMs}:${found.ctimeMs}` : "-";
}
