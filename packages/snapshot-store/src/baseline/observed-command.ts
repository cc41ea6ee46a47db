import type { FileState } from "../content/file-state.js";

/** A command in progress: everything that turns out to be different since it started, with what was there before. */
export type ObservedCommand = Readonly<ReturnType<typeof observeCommand>>;

/**
 * @param startedAt by the clock that stamps files, to tell a new file from one that was moved in.
 * @param elapsed how long it runs, by a clock that never jumps; null when an earlier process started it.
 */
export function observeCommand(startedAt: number, elapsed: (() => number) | null) {
  return {
    startedAt,
    elapsed,
    /** Path -> what was there when the command started. */
    files: new Map<string, FileState>(),
    /** Directory -> its mode when the command started, null when it was not there. */
    dirs: new Map<string, number | null>(),
    /** What changed and cannot be undone. */
    skipped: new Map<string, string>(),
    /** Paths another session announced meanwhile: its edits, not the command's. */
    foreign: new Set<string>(),
  };
}

/** The first thing seen about a path is what was there before. */
export function noteFile(runs: Iterable<ObservedCommand>, path: string, before: FileState): void {
  for (const run of runs) if (!run.files.has(path)) run.files.set(path, before);
}

export function noteDirectory(runs: Iterable<ObservedCommand>, path: string, before: number | null): void {
  for (const run of runs) if (!run.dirs.has(path)) run.dirs.set(path, before);
}

export function noteSkipped(runs: Iterable<ObservedCommand>, path: string, reason: string): void {
  for (const run of runs) if (!run.files.has(path)) run.skipped.set(path, reason);
}
