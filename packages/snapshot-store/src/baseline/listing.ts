/** One directory of the index: listed again when its times say so, its entries compared with what was known. */
import { type Dirent, readdirSync, type Stats } from "node:fs";
import { statIfAny } from "../content/file-state.js";
import { textOfBytes } from "../workspace/path-bytes.js";
import { type IgnoreRules, isAlwaysIgnored, readIgnoreFile, rulesBelow } from "./ignore-rules.js";
import { forgetBelow, forgetFile } from "./indexed-file.js";
import { noteDirectory } from "./run.js";
import type { ScanContext } from "./scan-context.js";
import { createDirectoryNode, type DirectoryNode, isRacy, pathIn, sameStamp } from "./tree.js";

export interface Listing {
  /** Files that are not in the index yet. */
  readonly fresh: readonly string[];
  /** Files in it that may have changed; null: any. */
  readonly suspects: ReadonlySet<string> | null;
  /** The rules by which it was listed before; null when it never was. */
  readonly oldRules: IgnoreRules | null;
}

const NOTHING: Listing = { fresh: [], suspects: new Set(), oldRules: null };

/** Brings a directory's own entry and its list of entries up to date. `charted`: a new entry in it is new on the disk too. */
export function listDirectory(
  context: ScanContext,
  directory: DirectoryNode,
  parentRules: IgnoreRules,
  charted: boolean,
): Listing {
  const stat = statIfAny(directory.address);
  if (stat === null || !stat.isDirectory()) {
    forgetBelow(context, directory, true);
    directory.mtimeMs = null;
    return NOTHING;
  }
  const mode = stat.mode & 0o7777;
  const first = directory.mtimeMs === null;
  if (!first && directory.mode !== mode) noteDirectory(context.runs, directory.path, directory.mode);
  directory.mode = mode;
  const suspects = follow(context, directory, stat);
  const sameTimes = directory.mtimeMs === stat.mtimeMs && directory.ctimeMs === stat.ctimeMs;
  const unchanged = sameTimes && isSameDirectory(directory, stat) && !directory.racy && !directory.stale;
  if (unchanged && !ignoreFileChanged(directory)) return { ...NOTHING, suspects };

  const oldRules = first ? null : directory.rules;
  const entries = readEntries(directory);
  judgeRules(directory, parentRules, entries, first);
  // Not before its new files were added; see `settleListing`.
  directory.complete = false;
  directory.racy = true;
  Object.assign(directory, { mtimeMs: stat.mtimeMs, ctimeMs: stat.ctimeMs, ino: stat.ino, device: stat.dev });
  return { fresh: reconcile(context, directory, entries, oldRules, charted), suspects, oldRules };
}

/** Everything a listing brought is in the index. */
export function settleListing(context: ScanContext, directory: DirectoryNode): void {
  directory.complete = true;
  directory.racy = isRacy(directory.ctimeMs, context.clock());
}

// --- internal ---

/** What a watcher suspects; and from now on, before anything in the directory is looked at, it is watched. */
function follow(context: ScanContext, directory: DirectoryNode, stat: Stats): ReadonlySet<string> | null {
  const suspects = isSameDirectory(directory, stat) ? (directory.watch?.take() ?? null) : null;
  if (suspects === null) {
    directory.watch?.close();
    directory.watch = context.watcher.watch(directory.path, stat.dev);
  }
  return context.thorough ? null : suspects;
}

function isSameDirectory(directory: DirectoryNode, stat: Stats): boolean {
  return directory.ino === stat.ino && directory.device === stat.dev;
}

function ignoreFileChanged(directory: DirectoryNode): boolean {
  const node = directory.files.get(".gitignore");
  if (node === undefined) return false;
  const stat = statIfAny(node.address);
  return stat === null || node.racy || !sameStamp(node, stat);
}

type Entries = ReadonlyMap<string, Dirent | Dirent<Buffer>>;

function readEntries(directory: DirectoryNode): Entries {
  const found = new Map<string, Dirent | Dirent<Buffer>>();
  try {
    const entries = readdirSync(directory.address, { withFileTypes: true });
    if (!entries.some((entry) => entry.name.includes("\ufffd"))) {
      for (const entry of entries) found.set(entry.name, entry);
      return found;
    }
    for (const entry of readdirSync(directory.address, { withFileTypes: true, encoding: "buffer" })) {
      found.set(textOfBytes(entry.name), entry);
    }
  } catch {
    // Unreadable or just removed: nothing in it can be kept.
  }
  return found;
}

/** Its own ignore file or one above may have changed; then everything below has to be judged again too. */
function judgeRules(directory: DirectoryNode, parentRules: IgnoreRules, entries: Entries, first: boolean): void {
  const text = entries.has(".gitignore") ? readIgnoreFile(pathIn(directory, ".gitignore")) : "";
  if (!first && !directory.stale && text === directory.ignoreText) return;
  directory.ignoreText = text;
  directory.rules = rulesBelow(parentRules, directory.path, text);
  directory.stale = false;
  for (const child of directory.dirs.values()) child.stale = true;
}

/** Drops what is gone or ignored now, adds directories, and returns the files to add. */
function reconcile(
  context: ScanContext,
  directory: DirectoryNode,
  entries: Entries,
  oldRules: IgnoreRules | null,
  charted: boolean,
): string[] {
  const { runs, ownData, usage } = context;
  const files = new Set<string>();
  const dirs = new Set<string>();
  for (const [name, entry] of entries) {
    const path = pathIn(directory, name);
    const isDirectory = entry.isDirectory();
    if (!isDirectory && !isFileOrLink(entry)) continue;
    if (isAlwaysIgnored(name) || path === ownData || directory.rules.ignores(path, isDirectory)) continue;
    (isDirectory ? dirs : files).add(name);
  }
  for (const [name, node] of directory.files) {
    if (files.has(name)) continue;
    directory.files.delete(name);
    const entry = entries.get(name);
    const nowIgnored = entry !== undefined && isFileOrLink(entry);
    forgetFile(context, node, !nowIgnored);
  }
  for (const [name, node] of directory.dirs) {
    if (dirs.has(name)) continue;
    directory.dirs.delete(name);
    const nowIgnored = entries.get(name)?.isDirectory() === true;
    forgetBelow(context, node, !nowIgnored);
    if (!nowIgnored) noteDirectory(runs, node.path, node.mode);
  }
  for (const name of dirs) {
    if (directory.dirs.has(name)) continue;
    const node = createDirectoryNode(pathIn(directory, name), directory.rules, usage.scans);
    directory.dirs.set(name, node);
    if (charted && oldRules?.ignores(node.path, true) !== true) noteDirectory(runs, node.path, null);
  }
  return [...files].filter((name) => !directory.files.has(name));
}

function isFileOrLink(entry: Dirent | Dirent<Buffer>): boolean {
  return entry.isFile() || entry.isSymbolicLink();
}
