/** Files that steer an agent, read from a project that may be hostile, never through a link that leaves it. */
import { existsSync, readdirSync, type Stats, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { readCanonicalText } from "./canonical-file.js";
import { resolvePath } from "./real-path.js";

const MAX_BYTES = 256 * 1024;
const MAX_FILES = 200;

/** Where the files are that steer an agent. */
export interface Places {
  readonly home: string;
  readonly cwd: string;
  /** Whether the project's files may describe known agents anew, choose models, bring skills and start MCP servers. */
  readonly trusted: boolean;
}

/** What reading them came to, beside what they say. */
export interface Loaded {
  /** What could not be used, each naming its file. */
  readonly problems: readonly string[];
  /** What the project's files ask for and would get if it were trusted. */
  readonly untrusted: readonly string[];
}

/** Null when it is not there, leads out of `root`, is too large or is not text. */
export async function readTextBeneath(root: string, path: string): Promise<string | null> {
  if (!existsSync(join(root, path))) return null;
  try {
    const found = resolvePath(path, { cwd: root, directories: [] });
    // A link may lead to a file of the same kind (CLAUDE.md to AGENTS.md), but not to keys or settings.
    return found.inside && extname(found.path) === extname(path)
      ? await readCanonicalText(found.path, MAX_BYTES)
      : null;
  } catch {
    return null;
  }
}

/** The files of a directory with that ending, in order of name. */
export async function listBeneath(root: string, directory: string, ending: string): Promise<string[]> {
  const path = join(root, directory);
  const names = existsSync(path) ? await readdir(path).catch(() => []) : [];
  return names
    .filter((name) => name.endsWith(ending))
    .sort()
    .slice(0, MAX_FILES)
    .map((name) => join(directory, name));
}

/**
 * What was read from files, kept while none of them has changed. Looking costs a stat for each, where reading costs a turn
 * milliseconds before its first word. Directories count with the files directly in them. One value is kept per key, for the keys
 * used last.
 */
export function whileUnchanged<T>(
  maxKeys = 32,
): (key: string, pathsOf: () => readonly string[], load: () => Promise<T>) => Promise<T> {
  const kept = new Map<string, Kept<T>>();
  return (key, pathsOf, load) => {
    const known = kept.get(key);
    const places = known?.places ?? placesOf(pathsOf());
    const look = lookAtAll(places);
    kept.delete(key);
    const entry = known?.look === look ? known : { places, look, value: load() };
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
  readonly places: readonly WatchedPath[];
  readonly look: string;
  readonly value: Promise<T>;
}

interface WatchedPath {
  readonly path: string;
  /** The directory it is in, where others of the places are in it too. */
  readonly shared: string | null;
}

function placesOf(paths: readonly string[]): WatchedPath[] {
  const parents = paths.map((path) => dirname(path));
  const isShared = (parent: string) => parents.indexOf(parent) !== parents.lastIndexOf(parent);
  return paths.map((path, at) => ({ path, shared: isShared(parents[at] as string) ? (parents[at] as string) : null }));
}

/** What lies in a directory that is not there need not be looked at, and most projects have none of those that hold several. */
function lookAtAll(places: readonly WatchedPath[]): string {
  const isMissing = new Map<string, boolean>();
  let looks = "";
  for (const { path, shared } of places) {
    if (shared !== null && !isMissing.has(shared)) isMissing.set(shared, lookAtEntry(shared) === marks(undefined));
    looks += `${shared !== null && isMissing.get(shared) ? marks(undefined) : lookAt(path)}\n`;
  }
  return looks;
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
