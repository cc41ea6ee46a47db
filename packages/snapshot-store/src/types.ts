/** The public contract: a store of sessions, and the undo history of one session. */
import type { SnapshotLimits } from "./limits.js";

export interface SnapshotStore {
  /** What is kept for the undo of a session; opening it creates nothing on disk. Without a log, nothing is recorded. */
  session(sessionId: string, workspace: SnapshotWorkspace, log?: RestoreLog): SessionSnapshots;
  /** What is kept for a session that another process may have: it is read anew with each call, and nothing is repaired. */
  reading(sessionId: string, workspace: SnapshotWorkspace): SnapshotReading;
  /** Sessions that a crash left with a restore that is not settled, and are not open here. */
  unfinished(): readonly UnfinishedRestore[];
  /** Stops using a session; what is on disk stays. */
  release(sessionId: string): void;
  /** Forgets everything kept for one session. A directory with anything that the store did not write stays. */
  clear(sessionId: string): Promise<void>;
  /** Brings the whole store within its limits. Sessions open in this process and those in `keep` are never removed. */
  gc(options?: { readonly keep?: readonly string[]; readonly signal?: AbortSignal }): Promise<GcReport>;
}

export interface UnfinishedRestore {
  readonly sessionId: string;
  readonly workspace: SnapshotWorkspace;
  /** When the session's directory last changed, in milliseconds since the epoch. */
  readonly touchedMs: number;
}

export interface SnapshotStoreOptions {
  /** Absolute directory that holds one directory per session. */
  readonly root: string;
  /** Further directories of the program that are never looked at: its logs, in a workspace that is the person's home. */
  readonly exclude?: readonly string[];
  readonly limits?: Partial<SnapshotLimits>;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  /** Milliseconds of a clock that nobody sets. */
  readonly monotonic?: () => number;
  /** While a workspace is read for the first time: how many of its files are known; null when it is done. */
  readonly onIndexing?: ((files: number | null) => void) | undefined;
}

/** The directories a session may change; nothing is ever written outside them. */
export interface SnapshotWorkspace {
  readonly cwd: string;
  readonly directories: readonly string[];
}

/** What undo and redo of files ask of the session's log. */
export interface RestoreLog {
  /** Throws when another process has the session now, which ends the call there. Asked before each file of a restore, too. */
  requireHeld(): void;
  /** Whether it holds a record of this direction after the given number: such a restore stands, any other is taken back. */
  recorded(direction: Direction, after: number): Promise<boolean>;
}

export interface SnapshotReading {
  /** Oldest first. */
  list(): Promise<readonly TurnSnapshot[]>;
  /** The files one snapshot changed, each with its unified diff. */
  edits(snapId: string): Promise<readonly FileEdit[]>;
}

/** Which turns can be undone or redone, and in which order, is the caller's to say: it has the log. */
export interface SessionSnapshots extends SnapshotReading {
  /**
   * Repairs what a crash left: a restore stands or is taken back, as the log says; an unfinished turn becomes a snapshot. Null
   * when no restore was interrupted. Without this call, the first other call does the same and reports nothing.
   */
  settle(): Promise<RecoveryReport | null>;
  beginTurn(turn: number): void;
  /** Captures what is at a path before the first write of it in this turn. */
  willWrite(path: string): Promise<void>;
  /**
   * Prepares the baseline for a command, long at first in a large root; the returned function finds what changed, and returns the paths
   * that are left to others.
   */
  willRun(options?: RunOptions): Promise<() => Promise<readonly string[]>>;
  /** Captures what the turn left; null: nothing changed. Snapshots of turns not in `reachable` are removed. */
  endTurn(reachable?: ReadonlySet<number>): Promise<TurnSnapshot | null>;
  /** Restores the files of turns, given in the order they are taken: newest first for undo, oldest first for redo. */
  restore(turns: readonly number[], direction: Direction, options: RestoreOptions): Promise<Restore>;
  /** Forgets everything kept for this session. */
  drop(): Promise<void>;
}

export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** Where people may work meanwhile: tells the command's changes from theirs. `changedAt` is null for what is gone. */
  readonly mine?: ((path: string, changedAt: number | null) => boolean) | undefined;
  /** Called for a root that is not known whole: what the command changes in the rest of it cannot be undone. */
  readonly onUncovered?: (root: string, reason: "time_limit" | "quota") => void;
}

export type Direction = "undo" | "redo";

export interface RestoreOptions {
  /** The last number of the log: the record of this restore will have a higher one. */
  readonly after: number;
  /** Replace files that changed since the agent's last write. */
  readonly force?: boolean;
  /** Report only. */
  readonly dryRun?: boolean;
}

/** A restore that was carried out. If the process dies before it is kept or taken back, `settle` decides. */
export interface Restore {
  readonly files: readonly FileOutcome[];
  /** Paths whose present version was kept. */
  readonly conflicts: readonly string[];
  /** The record is durable. */
  keep(): Promise<void>;
  /** There will be no record: puts everything back. */
  takeBack(): Promise<void>;
}

export type Outcome = "restored" | "deleted" | "created" | "conflict" | "skipped" | "unchanged";

export interface FileOutcome {
  readonly path: string;
  readonly outcome: Outcome;
  /** Why a file is in conflict or was skipped. */
  readonly reason?: string;
}

export interface TurnSnapshot {
  readonly snapId: string;
  readonly turn: number;
  /** Seconds since the epoch. */
  readonly timestamp: number;
  readonly files: readonly FileChange[];
  readonly skipped: Readonly<Record<string, string>>;
}

export interface FileChange {
  readonly path: string;
  readonly change: "add" | "update" | "delete";
}

export interface FileEdit extends FileChange {
  readonly diff: string;
}

export interface RecoveryReport {
  readonly sessionId: string;
  /** "kept": its record is in the log. "failed": it is still unfinished, and the next call tries again. */
  readonly result: "kept" | "taken_back" | "failed";
  /** Why it failed. */
  readonly message?: string;
}

export interface GcReport {
  readonly sessionsRemoved: readonly string[];
  readonly baselinesRemoved: number;
  readonly blobsRemoved: number;
  readonly bytesFreed: number;
  readonly bytesKept: number;
}
