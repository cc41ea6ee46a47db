/** Lists a directory of the index again when its times changed, and compares its entries with the known ones. */
import { type Dirent, opendirSync, readdirSync, type Stats } from "node:fs";
import { sameStamp, statIfAny } from "../content/file-state.js";
import { paced, type Steps } from "../pacer.js";
import { textOfBytes } from "../workspace/path-bytes.js";
import { type IgnoreRules, isAlwaysIgnored, readIgnoreFile, rulesBelow } from "./ignore-rules.js";
import { forgetBelow, forgetFile } from "./indexed-file.js";
import { noteDirectory } from "./observed-command.js";
import type { ScanContext } from "./scan-context.js";
import { createDirectoryNode, type DirectoryNode, isRacy, pathIn } from "./tree.js";

export interface Listing {
  /** Files that are not in the index yet. */
  readonly fresh: readonly string[];
  /** False when the time limit came before every entry was judged. */
  readonly whole: boolean;
  /** The files in it that may have changed; null when any may have. */
  readonly suspects: ReadonlySet<string> | null;
  /** The rules of its last listing; null when this is the first. */
  readonly oldRules: IgnoreRules | null;
}

const NOTHING: Listing = { fresh: [], whole: true, suspects: new Set(), oldRules: null };

/** Brings a directory's own entry and its list of entries up to date. `charted`: its earlier content is known, so a new entry is new on the disk. */
export async function listDirectory(
  context: ScanContext,
  directory: DirectoryNode,
  parentRules: IgnoreRules,
  charted: boolean,
): Promise<Listing> {
  const stat = statIfAny(directory.address);
  if (stat === null || !stat.isDirectory()) {
    forgetBelow(context, directory, true);
    directory.mtimeMs = null;
    return NOTHING;
  }
  const mode = stat.mode & 0o7777;
  const first = directory.mtimeMs === null;
  // The root itself is not part of the workspace: only entries below it may be changed.
  const modeChanged = !first && directory.mode !== mode && directory !== context.root;
  if (modeChanged) noteDirectory(context.runs, directory.path, directory.mode);
  directory.mode = mode;
  const suspects = follow(context, directory, stat);
  const sameTimes = directory.mtimeMs === stat.mtimeMs && directory.ctimeMs === stat.ctimeMs;
  const unchanged = sameTimes && isSameDirectory(directory, stat) && !directory.racy && !directory.stale;
  if (unchanged && !ignoreFileChanged(directory)) return { ...NOTHING, suspects };

  const entries = await paced(readingEntries(directory), context.pacer);
  directory.unreadable = entries === null;
  if (entries === null) return { ...NOTHING, suspects: null };
  const oldRules = first ? null : directory.rules;
  const present = await judge(context, directory, entries, rulesNow(directory, parentRules, entries, first));
  // `settleListing` sets this again once the new files are added.
  directory.complete = false;
  directory.racy = true;
  Object.assign(directory, { mtimeMs: stat.mtimeMs, ctimeMs: stat.ctimeMs, ino: stat.ino, device: stat.dev });
  return {
    fresh: reconcile(context, directory, entries, present, oldRules, charted),
    whole: present.whole,
    suspects,
    oldRules,
  };
}

/** Marks a directory as complete, once every file of its listing is in the index. */
export function settleListing(context: ScanContext, directory: DirectoryNode): void {
  directory.complete = true;
  directory.racy = isRacy(directory.ctimeMs, context.now());
}

// --- internal ---

/** Returns the watcher's suspects, and starts to watch the directory before any of its files is checked. */
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

/** The number of entries to read at a time. */
const BATCH = 1024;

/** The entries; null when the directory cannot be read, for example because it was just removed. */
function* readingEntries({ address }: DirectoryNode): Steps<Entries | null> {
  try {
    const named = typeof address === "string" ? yield* readingNames(address) : null;
    if (named !== null) return named;
    const entries = readdirSync(address, { withFileTypes: true, encoding: "buffer" });
    return new Map(entries.map((entry) => [textOfBytes(entry.name), entry]));
  } catch {
    return null;
  }
}

/** The entries with their names as text; null when a name is not valid UTF-8. */
function* readingNames(path: string): Steps<Entries | null> {
  const found = new Map<string, Dirent>();
  const directory = opendirSync(path, { bufferSize: BATCH });
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      if (entry.name.includes("\ufffd")) return null;
      found.set(entry.name, entry);
      if (found.size % BATCH === 0) yield;
    }
  } finally {
    directory.closeSync();
  }
  return found;
}

interface RulesNow {
  readonly ignoreText: string;
  readonly rules: IgnoreRules;
  readonly changed: boolean;
}

/** The rules of a directory now: its own ignore file or one above may have changed. */
function rulesNow(directory: DirectoryNode, parentRules: IgnoreRules, entries: Entries, first: boolean): RulesNow {
  const ignoreText = entries.has(".gitignore") ? readIgnoreFile(pathIn(directory, ".gitignore")) : "";
  const changed = first || directory.stale || ignoreText !== directory.ignoreText;
  return {
    ignoreText,
    changed,
    rules: changed ? rulesBelow(parentRules, directory.path, ignoreText) : directory.rules,
  };
}

interface Present {
  readonly files: ReadonlySet<string>;
  readonly dirs: ReadonlySet<string>;
  readonly whole: boolean;
}

/** Decides which entries belong in the index. The new rules apply, also below, once all entries have been judged. */
async function judge(
  { ownData, pacer, deadline, found }: ScanContext,
  directory: DirectoryNode,
  entries: Entries,
  { ignoreText, rules, changed }: RulesNow,
): Promise<Present> {
  const files = new Set<string>();
  const dirs = new Set<string>();
  let whole = true;
  for (const [name, entry] of entries) {
    const isDirectory = entry.isDirectory();
    if (!isDirectory && !isFileOrLink(entry)) continue;
    const isKnown = isDirectory ? directory.dirs.has(name) : directory.files.has(name);
    if (changed || !isKnown) {
      const pause = pacer.pause();
      if (pause !== null) await pause;
      if (performance.now() > deadline && !isKnown) {
        found.truncated = "time_limit";
        whole = false;
        continue;
      }
      const path = pathIn(directory, name);
      if (isAlwaysIgnored(name) || ownData.includes(path) || rules.ignores(path, isDirectory)) continue;
    }
    (isDirectory ? dirs : files).add(name);
  }
  if (changed) for (const child of directory.dirs.values()) child.stale = true;
  Object.assign(directory, { ignoreText, rules, stale: false });
  return { files, dirs, whole };
}

/** Drops entries that are gone or ignored now, adds directories, and returns the files to add. */
function reconcile(
  context: ScanContext,
  directory: DirectoryNode,
  entries: Entries,
  { files, dirs }: Present,
  oldRules: IgnoreRules | null,
  charted: boolean,
): string[] {
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
    if (!nowIgnored) noteDirectory(context.runs, node.path, node.mode);
  }
  for (const name of dirs) {
    if (directory.dirs.has(name)) continue;
    const node = createDirectoryNode(pathIn(directory, name), directory.rules, context.usage.scans);
    directory.dirs.set(name, node);
    if (charted && oldRules?.ignores(node.path, true) !== true) noteDirectory(context.runs, node.path, null);
  }
  return [...files].filter((name) => !directory.files.has(name));
}

function isFileOrLink(entry: Dirent | Dirent<Buffer>): boolean {
  return entry.isFile() || entry.isSymbolicLink();
}
