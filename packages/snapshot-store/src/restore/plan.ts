/** Decides, file by file, what undo or redo will do, without changing anything. */
import { dirname } from "node:path";
import {
  type FileState,
  isAbsentAsFile,
  modeOf,
  type StoredState,
  sameContent,
  sameState,
} from "../content/file-state.js";
import type { Steps } from "../pacer.js";
import { type Manifest, NOT_KEPT, stepOf } from "../turn/manifest.js";
import type { Direction, FileOutcome } from "../types.js";

export interface FileOp {
  readonly path: string;
  readonly from: FileState;
  readonly to: StoredState;
}

/** A directory's modes; null when it does not exist. */
export interface DirectoryOp {
  readonly path: string;
  readonly from: number | null;
  readonly to: number | null;
}

export interface Plan {
  readonly files: readonly FileOp[];
  readonly dirs: readonly DirectoryOp[];
  readonly outcomes: readonly FileOutcome[];
}

/** The disk and the store as planning reads them. */
export interface Surroundings {
  look(path: string): FileState;
  /** The full paths of all files and directories below a directory. */
  below(directory: string): readonly string[];
  isRoot(path: string): boolean;
  hasBlob(sha: string): boolean;
}

/** @param manifests in the order of the restore: newest turn first for undo, oldest first for redo. */
export function* planningRestore(
  manifests: readonly Manifest[],
  direction: Direction,
  force: boolean,
  around: Surroundings,
): Steps<Plan> {
  const outcomes = new Map<string, FileOutcome>();
  const ops = new Map<string, FileOp>();
  for (const [path, moves] of yield* movesByPath(manifests, direction)) {
    yield;
    const from = around.look(path);
    const { to, kept } = follow(moves, from, force, around);
    if (to !== null) ops.set(path, { path, from, to });
    outcomes.set(path, { path, ...(kept ?? { outcome: outcomeOf(from, to) }) });
  }
  const dirs = yield* directoryOps(manifests, direction, around);
  for (const [path, reason] of yield* blocked(ops, dirs, around)) {
    ops.delete(path);
    outcomes.set(path, { path, outcome: "conflict", reason });
  }
  return {
    files: [...ops.values()],
    dirs,
    outcomes: [...outcomes.values()].sort((a, b) => (a.path < b.path ? -1 : 1)),
  };
}

// --- internal ---

type Move = { readonly from: StoredState; readonly to: StoredState } | { readonly skipped: string };

type Kept = Omit<FileOutcome, "path"> | null;

function* movesByPath(manifests: readonly Manifest[], direction: Direction): Steps<Map<string, Move[]>> {
  const moves = new Map<string, Move[]>();
  const add = (path: string, move: Move) => {
    const known = moves.get(path);
    if (known === undefined) moves.set(path, [move]);
    else known.push(move);
  };
  for (const manifest of manifests) {
    for (const path of Object.keys(manifest.files)) {
      yield;
      const { before, after } = stepOf(manifest, path);
      add(path, direction === "undo" ? { from: after, to: before } : { from: before, to: after });
    }
    for (const [path, reason] of Object.entries(manifest.skipped)) add(path, { skipped: reason });
  }
  return moves;
}

/** Moves a file through the turns one by one, while its content is what each turn expects. */
function follow(
  moves: readonly Move[],
  current: FileState,
  force: boolean,
  around: Surroundings,
): { to: StoredState | null; kept: Kept } {
  let state: FileState = current;
  let kept: Kept = null;
  for (const move of moves) {
    if ("skipped" in move) {
      kept = { outcome: "skipped", reason: move.skipped };
      // The other turns know what they left, so that their moves still fit or are conflicts.
      if (move.skipped === NOT_KEPT) continue;
      break;
    }
    const expected = sameContent(state, move.from) && modeUntouched(state, move);
    if (!expected && sameContent(state, move.to)) continue;
    if (!expected && (!force || state.kind === "skipped")) {
      kept = { outcome: "conflict", reason: state.kind === "skipped" ? state.reason : "changed_since" };
      break;
    }
    if (move.to.kind !== "absent" && !around.hasBlob(move.to.sha)) {
      kept = { outcome: "skipped", reason: "blob_missing" };
      break;
    }
    state = withModeKept(state, move);
  }
  if (state === current || sameState(state, current)) return { to: null, kept };
  return { to: state as StoredState, kept: kept?.reason === NOT_KEPT ? null : kept };
}

/** True when the file's mode is what the turn left, or the turn did not change the mode. */
function modeUntouched(state: FileState, move: { from: StoredState; to: StoredState }): boolean {
  const changedMode = modeOf(move.from) !== null && modeOf(move.to) !== null && modeOf(move.from) !== modeOf(move.to);
  return !changedMode || modeOf(state) === modeOf(move.from);
}

function withModeKept(state: FileState, move: { from: StoredState; to: StoredState }): StoredState {
  const current = modeOf(state);
  if (move.to.kind !== "file" || current === null || modeOf(move.from) !== move.to.mode) return move.to;
  return { ...move.to, mode: current };
}

function outcomeOf(from: FileState, to: StoredState | null): FileOutcome["outcome"] {
  if (to === null) return "unchanged";
  if (to.kind === "absent") return "deleted";
  return isAbsentAsFile(from) ? "created" : "restored";
}

function* directoryOps(
  manifests: readonly Manifest[],
  direction: Direction,
  around: Surroundings,
): Steps<DirectoryOp[]> {
  const targets = new Map<string, { from: number | null; to: number | null }>();
  for (const manifest of manifests) {
    for (const [path, change] of Object.entries(manifest.dirs)) {
      const [from, to] = direction === "undo" ? [change.after, change.before] : [change.before, change.after];
      const known = targets.get(path);
      targets.set(path, { from: known === undefined ? from : known.from, to });
    }
  }
  const ops: DirectoryOp[] = [];
  for (const [path, { from: expected, to }] of targets) {
    yield;
    const state = around.look(path);
    if (state.kind === "skipped") continue;
    const from = state.kind === "directory" ? state.mode : null;
    const userChanged = from !== null && to !== null && from !== expected;
    if (from !== to && !userChanged) ops.push({ path, from, to });
  }
  return ops;
}

/** Files that cannot be put in place, with reasons: a non-empty directory is there, or a parent is not a directory. */
function* blocked(
  ops: ReadonlyMap<string, FileOp>,
  dirs: readonly DirectoryOp[],
  around: Surroundings,
): Steps<Map<string, string>> {
  const leaving = new Set<string>();
  for (const op of ops.values()) if (op.to.kind === "absent") leaving.add(op.path);
  for (const dir of dirs) if (dir.to === null) leaving.add(dir.path);
  const reasons = new Map<string, string>();
  for (const op of ops.values()) {
    yield;
    if (op.to.kind === "absent") continue;
    if (op.from.kind === "directory") {
      const emptied = leaving.has(op.path) && around.below(op.path).every((path) => leaving.has(path));
      if (!emptied) reasons.set(op.path, "directory_in_use");
    }
    for (
      let parent = dirname(op.path);
      !around.isRoot(parent) && parent !== dirname(parent);
      parent = dirname(parent)
    ) {
      const state = around.look(parent);
      if (state.kind === "absent" || state.kind === "directory" || leaving.has(parent)) continue;
      reasons.set(op.path, "parent_not_a_directory");
      break;
    }
  }
  return reasons;
}
