/** The stat index of a workspace, as a tree. */
import { ABSENT, type FileState } from "../content/file-state.js";
import { fsPath } from "../workspace/path-bytes.js";
import type { IgnoreRules } from "./ignore-rules.js";
import type { DirectoryWatch } from "./watch.js";

export type FileNode = ReturnType<typeof createFileNode>;

// An interface, because a directory holds others.
export interface DirectoryNode extends ReturnType<typeof createDirectoryNode> {}

export function createFileNode(path: string, scan: number) {
  return {
    path,
    address: fsPath(path),
    size: 0,
    mtimeMs: 0,
    ctimeMs: 0,
    ino: 0,
    state: ABSENT as FileState,
    /** How many bytes it counts against the quota. */
    stored: 0,
    /** True when it changed so recently that equal times do not prove equal content. */
    racy: false,
    /** True for a file with a NUL. Programs write such files through memory mappings, which watchers do not report. */
    binary: false,
    /** True for a file with another name: watchers report only changes through this one. */
    linked: false,
    /** The scan that added it. */
    scan,
  };
}

export function createDirectoryNode(path: string, rules: IgnoreRules, scan: number) {
  return {
    path,
    address: fsPath(path),
    /** Null until it has been read once. */
    mtimeMs: null as number | null,
    ctimeMs: 0,
    ino: 0,
    device: 0,
    mode: 0,
    racy: false,
    /** True when all its entries are in the index; false when a limit came first. */
    complete: false,
    /** True when it could not be listed, so that entries found later may not be new. */
    unreadable: false,
    ignoreText: "",
    rules,
    /** True when the rules above have changed since it was listed. */
    stale: false,
    watch: null as DirectoryWatch | null,
    /** The scan that added it. */
    scan,
    files: new Map<string, FileNode>(),
    dirs: new Map<string, DirectoryNode>(),
  };
}

/** Two changes within one step of the clock have the same time. A step is a few milliseconds, or seconds on coarse file systems. */
export function isRacy(ctimeMs: number, now: number): boolean {
  return now - ctimeMs < (ctimeMs % 1000 === 0 ? 2100 : 50);
}

/** True for a file that can change unnoticed by a watcher, so that every scan checks it. */
export function isElusive(node: FileNode): boolean {
  return node.binary || node.linked;
}

/** The full path of an entry. */
export function pathIn(directory: DirectoryNode, name: string): string {
  return directory.path === "/" ? `/${name}` : `${directory.path}/${name}`;
}

export function* filesOf(directory: DirectoryNode): Generator<FileNode> {
  for (const each of directoriesOf(directory)) yield* each.files.values();
}

/** Not recursive: a deep tree must not exhaust the stack. */
export function* directoriesOf(directory: DirectoryNode): Generator<DirectoryNode> {
  const pending = [directory];
  for (let each = pending.pop(); each !== undefined; each = pending.pop()) {
    yield each;
    for (const child of each.dirs.values()) pending.push(child);
  }
}
