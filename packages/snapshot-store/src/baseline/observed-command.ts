import type { FileState } from "../content/file-state.js";

/** A command in progress: everything that was found to have changed since it started, with its earlier state. */
export type ObservedCommand = Readonly<ReturnType<typeof observeCommand>>;

/**
 * @param startedAt by the clock that stamps files; distinguishes a new file from one that was moved in.
 * @param elapsed how long it has run, by a monotonic clock; null when an earlier process started it.
 */
export function observeCommand(startedAt: number, elapsed: (() => number) | null) {
  return {
    startedAt,
    elapsed,
    /** Path -> its state when the command started. */
    files: new Map<string, FileState>(),
    /** Directory -> its mode when the command started; null when it did not exist. */
    dirs: new Map<string, number | null>(),
    /** Changes that cannot be undone, by path, with the reason. */
    skipped: new Map<string, string>(),
    /** Paths that another session announced meanwhile, whose edits are not the command's. */
    foreign: new Set<string>(),
  };
}

/** Notes the earlier state of a path; the first note counts. */
export function noteFile(runs: Iterable<ObservedCommand>, path: string, before: FileState): void {
  for (const run of runs) if (!run.files.has(path)) run.files.set(path, before);
}

export function noteDirectory(runs: Iterable<ObservedCommand>, path: string, before: number | null): void {
  for (const run of runs) if (!run.dirs.has(path)) run.dirs.set(path, before);
}

export function noteSkipped(runs: Iterable<ObservedCommand>, path: string, reason: string): void {
  for (const run of runs) if (!run.files.has(path)) run.skipped.set(path, reason);
}
