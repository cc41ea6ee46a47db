/** The public contract: a store of sessions, and the undo history of one session. */
import type { SnapshotLimits } from "./limits.js";

export interface SnapshotStore {
  /** The snapshots of a session. Opening them creates nothing on disk. Without a log, no restore counts as recorded. */
  session(sessionId: string, workspace: SnapshotWorkspace, log?: RestoreLog): SessionSnapshots;
  /** The snapshots of a session that another process may hold. Each call reads them again, and nothing is repaired. */
  reading(sessionId: string, workspace: SnapshotWorkspace): SnapshotReading;
  /** Sessions with an unsettled restore that are not open in this process. With `sessionId`, only that session. */
  unfinished(sessionId?: string): readonly UnfinishedRestore[];
  /** Stops using a session; its files stay. */
  release(sessionId: string): void;
  /** Removes the snapshots of one session. A directory with an unsettled restore, or with any file that the store did not write, stays. */
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
  /** Further directories of the program to leave out, such as its logs when the workspace is the person's home. */
  readonly exclude?: readonly string[];
  readonly limits?: Partial<SnapshotLimits>;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic?: () => number;
  /** Called while a workspace is read for the first time, with the number of files so far; null when it is done. */
  readonly onIndexing?: ((files: number | null) => void) | undefined;
}

/** The directories that a session may change; a restore never writes outside them. */
export interface SnapshotWorkspace {
  readonly cwd: string;
  readonly directories: readonly string[];
}

/** The session's log, as far as a restore needs it. */
export interface RestoreLog {
  /** Throws when another process holds the session now, which ends the call. Also called before each file of a restore. */
  requireHeld(): void;
  /** Whether the log holds a record of this direction after the given number: then the restore stands, otherwise it is taken back. */
  recorded(direction: Direction, after: number): Promise<boolean>;
}

export interface SnapshotReading {
  /** Oldest first. */
  list(): Promise<readonly TurnSnapshot[]>;
  /** The files one snapshot changed, each with its unified diff. */
  edits(snapId: string): Promise<readonly FileEdit[]>;
}

/** The caller, which has the log, decides which turns can be undone or redone, and in which order. */
export interface SessionSnapshots extends SnapshotReading {
  /**
   * Repairs the state after a crash: keeps a restore or takes it back, as the log says, and makes a snapshot of an unfinished turn.
   * Null when no restore was interrupted. Without this call, the first other call does the same and reports nothing.
   */
  settle(): Promise<RecoveryReport | null>;
  beginTurn(turn: number): void;
  /** Captures a path before its first write in this turn. */
  willWrite(path: string): Promise<void>;
  /**
   * Prepares the baseline for a command, which takes long the first time in a large root. The returned function finds and captures the
   * changes, and returns the changed paths that `mine` attributed to others.
   */
  willRun(options?: RunOptions): Promise<() => Promise<readonly string[]>>;
  /** Captures the state after the turn; null when nothing changed. Removes the snapshots of turns that are not in `reachable`. */
  endTurn(reachable?: ReadonlySet<number>): Promise<TurnSnapshot | null>;
  /** Restores the files of turns, in the given order: newest first for undo, oldest first for redo. */
  restore(turns: readonly number[], direction: Direction, options: RestoreOptions): Promise<Restore>;
  /** Settles an unfinished restore, then removes the snapshots of this session. */
  drop(): Promise<void>;
}

export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether the command made a change, for a workspace in which people work at the same time. `changedAt` is null for a removed file. */
  readonly mine?: ((path: string, changedAt: number | null) => boolean) | undefined;
  /** Called for a root that is not fully indexed: the command's changes in the rest of it cannot be undone. */
  readonly onUncovered?: (root: string, reason: "time_limit" | "quota") => void;
}

export type Direction = "undo" | "redo";

export interface RestoreOptions {
  /** The last number of the log: the record of this restore will have a higher one. */
  readonly after: number;
  /** Replace files that changed since the agent's last write. */
  readonly force?: boolean;
  /** Only report what would be done. */
  readonly dryRun?: boolean;
  /** The files that a turn edited. If its snapshot is gone, they are reported as skipped with `not_kept`. @defaultValue none */
  readonly edited?: (turn: number) => Iterable<string>;
}

/** A restore that was carried out. If the process dies before it is kept or taken back, `settle` decides. */
export interface Restore {
  readonly files: readonly FileOutcome[];
  /** Paths whose current version was kept. */
  readonly conflicts: readonly string[];
  /** Call when the record is durable: removes the journal. */
  keep(): Promise<void>;
  /** Call when there will be no record: puts everything back. */
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
  /** "kept": the record is in the log. "failed": the restore is still unfinished, and the next call tries again. */
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
