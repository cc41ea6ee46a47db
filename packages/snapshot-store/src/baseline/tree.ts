/** The stat index of a workspace, as the tree it is. */
import type { Stats } from "node:fs";
import type { FileState } from "../content/file-state.js";
import { fsPath } from "../workspace/path-bytes.js";
import type { IgnoreRules } from "./ignore-rules.js";

export interface FileNode {
  readonly path: string;
  readonly address: string | Buffer;
  size: number;
  mtimeMs: number;
  ctimeMs: number;
  ino: number;
  state: FileState;
  /** Bytes it counts against the quota. */
  stored: number;
  /** Changed so recently that its times cannot prove the content still the same. */
  racy: boolean;
  /** The scan that added it. */
  scan: number;
}

export interface DirectoryNode {
  readonly path: string;
  readonly address: string | Buffer;
  /** Null until it was read once. */
  mtimeMs: number | null;
  ctimeMs: number;
  ino: number;
  mode: number;
  racy: boolean;
  ignoreText: string;
  rules: IgnoreRules;
  readonly files: Map<string, FileNode>;
  readonly dirs: Map<string, DirectoryNode>;
}

export function createFileNode(path: string): FileNode {
  const state: FileState = { kind: "absent" };
  return {
    path,
    address: fsPath(path),
    size: 0,
    mtimeMs: 0,
    ctimeMs: 0,
    ino: 0,
    state,
    stored: 0,
    racy: false,
    scan: 0,
  };
}

export function createDirectoryNode(path: string, rules: IgnoreRules): DirectoryNode {
  return {
    path,
    address: fsPath(path),
    mtimeMs: null,
    ctimeMs: 0,
    ino: 0,
    mode: 0,
    racy: false,
    ignoreText: "",
    rules,
    files: new Map(),
    dirs: new Map(),
  };
}

export interface Stamp {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
}

export function sameStamp(a: Stamp, b: Stamp): boolean {
  return a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs && a.size === b.size && a.ino === b.ino;
}

/**
 * A change made within the clock's grain of an earlier one leaves the same times. Kernels stamp every few milliseconds;
 * whole seconds betray a file system that knows nothing finer.
 */
export function isRacy(stat: Stats, now: number): boolean {
  return now - stat.ctimeMs < (stat.ctimeMs % 1000 === 0 ? 2100 : 50);
}

export function* filesOf(directory: DirectoryNode): Generator<FileNode> {
  yield* directory.files.values();
  for (const child of directory.dirs.values()) yield* filesOf(child);
}

export function* directoriesOf(directory: DirectoryNode): Generator<DirectoryNode> {
  yield directory;
  for (const child of directory.dirs.values()) yield* directoriesOf(child);
}
