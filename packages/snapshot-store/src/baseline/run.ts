/** A command in progress: everything that turns out to be different since it started, with what was there before. */
import type { FileState } from "../content/file-state.js";

export interface Run {
  /** By the clock that stamps files, to tell a new file from one that was moved in. */
  readonly startedAt: number;
  /** The same moment by `performance.now`, which never jumps; null when an earlier process started it. */
  readonly began: number | null;
  /** Path -> what was there when the command started. */
  readonly files: Map<string, FileState>;
  /** Directory -> its mode when the command started, null when it was not there. */
  readonly dirs: Map<string, number | null>;
  /** What changed and cannot be undone. */
  readonly skipped: Map<string, string>;
  /** Paths another session announced meanwhile: its edits, not the command's. */
  readonly foreign: Set<string>;
}

export function createRun(startedAt: number, began: number | null): Run {
  return { startedAt, began, files: new Map(), dirs: new Map(), skipped: new Map(), foreign: new Set() };
}

/** The first thing seen about a path is what was there before. */
export function noteFile(runs: Iterable<Run>, path: string, before: FileState): void {
  for (const run of runs) if (!run.files.has(path)) run.files.set(path, before);
}

export function noteDirectory(runs: Iterable<Run>, path: string, before: number | null): void {
  for (const run of runs) if (!run.dirs.has(path)) run.dirs.set(path, before);
}

export function noteSkipped(runs: Iterable<Run>, path: string, reason: string): void {
  for (const run of runs) if (!run.files.has(path)) run.skipped.set(path, reason);
}
