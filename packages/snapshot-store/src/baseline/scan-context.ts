/** The inputs and findings of one scan of a root. */
import type { Blobs } from "../content/blobs.js";
import type { SkipReason } from "../content/file-state.js";
import type { SnapshotLimits } from "../limits.js";
import type { Pacer } from "../pacer.js";
import type { Fact } from "./facts.js";
import type { IgnoreRules } from "./ignore-rules.js";
import type { ObservedCommand } from "./observed-command.js";
import type { DirectoryNode } from "./tree.js";
import type { Watcher } from "./watch.js";

export interface ScanContext {
  readonly root: DirectoryNode;
  readonly rulesAbove: IgnoreRules;
  readonly ownData: readonly string[];
  readonly blobs: Blobs;
  readonly limits: SnapshotLimits;
  readonly runs: ReadonlySet<ObservedCommand>;
  /** Facts of earlier processes. The scan uses each one whose times still match, and drops it. */
  readonly facts: Map<string, Fact>;
  readonly usage: BaselineUsage;
  readonly watcher: Watcher;
  /** By the clock that stamps files. */
  readonly now: () => number;
  /** Check every file, whatever the watcher says. */
  readonly thorough: boolean;
  /** Read files that no scan has reached yet. False while a command waits for its result: then only its own new files are read. */
  readonly explore: boolean;
  readonly signal: AbortSignal | undefined;
  readonly pacer: Pacer;
  /** Called whenever the scan gives way to other work. */
  readonly onPause: () => void;
  /** When to stop adding files to the index, by `performance.now`. */
  readonly deadline: number;
  readonly found: ReturnType<typeof createFindings>;
}

/** The totals of the index over all scans. */
export interface BaselineUsage {
  files: number;
  bytes: number;
  /** The number of the scan, so that one scan does not check a file twice. */
  scans: number;
}

/** The findings of one scan. */
export function createFindings(truncated: SkipReason | null) {
  return {
    learned: [] as Fact[],
    /** Known inodes that left their path: a new file with one of them was renamed. */
    departed: new Set<number>(),
    /** The inodes of the index, collected on first use; null before that. */
    inodes: null as Set<number> | null,
    /** Why part of the workspace was not scanned; null when all of it was. */
    truncated,
    /** True when a file has got a second name, through which it may have been changed unnoticed. */
    hardLink: false,
  };
}
