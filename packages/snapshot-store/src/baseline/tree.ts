/** The stat index of a workspace, as the tree it is. */
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
    /** Bytes it counts against the quota. */
    stored: 0,
    /** Changed so recently that its times cannot prove the content still the same. */
    racy: false,
    /** Holds a NUL: it is not text, and so of the kind that programs write through a mapping, which no watcher hears of. */
    binary: false,
    /** Has another name, and a watcher hears only of what is done through this one. */
    linked: false,
    /** The scan that added it. */
    scan,
  };
}

export function createDirectoryNode(path: string, rules: IgnoreRules, scan: number) {
  return {
    path,
    address: fsPath(path),
    /** Null until it was read once. */
    mtimeMs: null as number | null,
    ctimeMs: 0,
    ino: 0,
    device: 0,
    mode: 0,
    racy: false,
    /** All its entries are in the index; not so where a limit came first. */
    complete: false,
    /** It could not be listed: what appears later may have been there all the time. */
    unreadable: false,
    ignoreText: "",
    rules,
    /** The rules above changed since it was listed. */
    stale: false,
    watch: null as DirectoryWatch | null,
    /** The scan that added it. */
    scan,
    files: new Map<string, FileNode>(),
    dirs: new Map<string, DirectoryNode>(),
  };
}

/** Changes within the clock's grain leave the same times: a few milliseconds, or a second on coarse file systems. */
export function isRacy(ctimeMs: number, now: number): boolean {
  return now - ctimeMs < (ctimeMs % 1000 === 0 ? 2100 : 50);
}

/** A file that can change without a watcher hearing of it is looked at in every scan. */
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
