/** What one scan of a root works with, and what it finds on the way. */
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
  /** Learned by earlier processes; taken over where the times still agree, then dropped. */
  readonly facts: Map<string, Fact>;
  readonly usage: BaselineUsage;
  readonly watcher: Watcher;
  /** By the clock that stamps files. */
  readonly now: () => number;
  /** Look at every file, whatever the watcher says. */
  readonly thorough: boolean;
  /** Read what no scan has reached yet; while a command waits for its result, only what it made is worth reading. */
  readonly explore: boolean;
  readonly signal: AbortSignal | undefined;
  readonly pacer: Pacer;
  /** Called whenever other work of the process is let in. */
  readonly onPause: () => void;
  /** When to stop reading what is not in the index yet, by `performance.now`. */
  readonly deadline: number;
  readonly found: ReturnType<typeof createFindings>;
}

/** What the index holds; lives as long as it does. */
export interface BaselineUsage {
  files: number;
  bytes: number;
  /** Numbers the scans, so that a file just read is not looked at twice in one. */
  scans: number;
}

/** What one scan brought to light. */
export function createFindings(truncated: SkipReason | null) {
  return {
    learned: [] as Fact[],
    /** Inodes known before that left their path: a file that has one was renamed. */
    departed: new Set<number>(),
    /** Inodes that were in the index when one was first asked for; null before. */
    inodes: null as Set<number> | null,
    /** Why part of the workspace was not reached; null when all of it was. */
    truncated,
    /** A file was met that has a second name by now, and may have been changed through it unseen. */
    hardLink: false,
  };
}
