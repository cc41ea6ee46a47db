/** Reads the files that steer an agent. The project may be hostile, so no read follows a link out of it. */
import { existsSync, readdirSync, type Stats, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, extname, join, sep } from "node:path";
import { orElse } from "@chimera/acp-schema/lenient";
import { readCanonicalText } from "./canonical-file.js";
import { resolvePath } from "./real-path.js";

const MAX_BYTES = 256 * 1024;
const MAX_FILES = 200;

/** Where to find the files that steer an agent. */
export interface Places {
  readonly home: string;
  readonly cwd: string;
  /** Whether the project's files may redefine known agents, choose models, add skills and start MCP servers. */
  readonly trusted: boolean;
}

/** What loading the files reports besides their content. */
export interface Loaded {
  /** Files that could not be used; each sentence names its file. */
  readonly problems: readonly string[];
  /** What the project's files would get if the person trusted the project. */
  readonly untrusted: readonly string[];
}

/**
 * Null for a file that does not exist, leads out of `root`, is too large or is not text.
 *
 * @example
 * const rules = await readTextBeneath(cwd, join(cwd, "permissions.json"));
 */
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

/** The files in a directory that have this ending, sorted by name. */
export async function listBeneath(root: string, directory: string, ending: string): Promise<string[]> {
  const path = root + sep + directory;
  const names = existsSync(path) ? await readdir(path).catch(() => []) : [];
  return names
    .filter((name) => name.endsWith(ending))
    .sort()
    .slice(0, MAX_FILES)
    .map((name) => join(directory, name));
}

/**
 * Caches a value that is loaded from files until one of them changes. A check costs one stat per file; loading would delay each turn
 * by milliseconds. A directory counts together with the files directly in it. Each key has one value; the keys used last are kept.
 *
 * @example
 * const cached = whileUnchanged<Rules>();
 * const rules = await cached(cwd, () => [join(cwd, "rules.json")], () => loadRules(cwd));
 */
export function whileUnchanged<T>(): (
  key: string,
  pathsOf: () => readonly string[],
  load: () => Promise<T>,
) => Promise<T> {
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
      if (kept.size <= MAX_KEYS) break;
      kept.delete(oldest);
    }
    return entry.value;
  };
}

// --- internal ---

/** Results that are kept at once. */
const MAX_KEYS = 32;
/** Entries that a check looks at per directory: more than any loader reads. */
const MAX_ENTRIES = 1000;

interface Kept<T> {
  readonly places: readonly WatchedPath[];
  readonly look: string;
  readonly value: Promise<T>;
}

interface WatchedPath {
  readonly path: string;
  /** The parent directory, when several watched paths share it. */
  readonly shared: string | null;
}

function placesOf(paths: readonly string[]): WatchedPath[] {
  const parents = paths.map((path) => dirname(path));
  const isShared = (parent: string) => parents.indexOf(parent) !== parents.lastIndexOf(parent);
  return paths.map((path, at) => ({ path, shared: isShared(parents[at] as string) ? (parents[at] as string) : null }));
}

/** Skips the paths below a shared directory that does not exist: most projects have none of these directories. */
function lookAtAll(places: readonly WatchedPath[]): string {
  const isMissing = new Map<string, boolean>();
  let looks = "";
  for (const { path, shared } of places) {
    if (shared !== null && !isMissing.has(shared)) isMissing.set(shared, lookAtEntry(shared) === marks(undefined));
    looks += `${shared !== null && isMissing.get(shared) ? marks(undefined) : lookAt(path)}\n`;
  }
  return looks;
}

/** A path that cannot be inspected (a link to itself, a directory that is a file) counts as missing. */
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
  return marks(orElse(() => statSync(path, { throwIfNoEntry: false }), undefined));
}

function marks(found: Stats | undefined): string {
  return found ? `${found.ino}:${found.size}:${found.mtimeMs}:${found.ctimeMs}` : "-";
}
