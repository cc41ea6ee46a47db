/** The public contract: a store of sessions, and the undo history of one session. */
import type { SnapshotLimits } from "./limits.js";

export interface SnapshotStore {
  /** The undo history of a session; opening it creates nothing on disk. */
  session(sessionId: string, workspace: SnapshotWorkspace): SessionSnapshots;
  /** Finishes restores that a crash interrupted, in every session; to be called once when a process starts. */
  recover(hold?: HoldSession): Promise<readonly RecoveryReport[]>;
  /** Lets go of a session that is not used any more; what is kept on disk stays. */
  release(sessionId: string): void;
  /** Forgets everything kept for one session; files in the workspace stay as they are. */
  clear(sessionId: string): Promise<void>;
  /** Brings the whole store within its limits. Sessions open in this process and those in `keep` are never removed. */
  gc(options?: { readonly keep?: readonly string[]; readonly signal?: AbortSignal }): Promise<GcReport>;
}

/**
 * Does the work while no other process has the session, or leaves it: a restore that another process is at looks like one
 * that a crash interrupted. Without it, this process has to be the only one.
 */
export type HoldSession = (sessionId: string, work: () => Promise<void>) => Promise<void>;

export interface SnapshotStoreOptions {
  /** Absolute directory that holds one directory per session. */
  readonly root: string;
  readonly limits?: Partial<SnapshotLimits>;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
}

/** The directories a session may change; nothing is ever written outside them. */
export interface SnapshotWorkspace {
  readonly cwd: string;
  readonly directories: readonly string[];
}

export interface SessionSnapshots {
  /** Starts a turn: what could be redone is discarded. */
  beginTurn(turn: number): void;
  /** Captures what is at a path before the first write of it in this turn. */
  willWrite(path: string): Promise<void>;
  /**
   * Brings the baseline up to date before a command; the returned function finds what the command changed. The first
   * time in a large workspace that takes a while: `signal` ends the wait with its reason.
   */
  willRun(options?: { readonly signal?: AbortSignal | undefined }): Promise<() => Promise<void>>;
  /** Captures what the turn left and makes it one undo step; null when no file changed (it still is a step). */
  endTurn(): Promise<TurnSnapshot | null>;
  undo(options?: RestoreOptions): Promise<RestoreReport>;
  redo(options?: RestoreOptions): Promise<RestoreReport>;
  /** Snapshots on the undo stack, oldest first. */
  list(): Promise<readonly TurnSnapshot[]>;
  /** How many turns can be undone and redone. */
  depth(): Promise<{ readonly undo: number; readonly redo: number }>;
  /** Unified diff between the states after two snapshots; from null is before the first, to null is the disk now. */
  diff(from: string | null, to: string | null): Promise<string>;
  /** The files one snapshot changed, each with its unified diff. */
  edits(snapId: string): Promise<readonly FileEdit[]>;
  /** Forgets everything kept for this session. */
  drop(): Promise<void>;
}

export interface RestoreOptions {
  /** Turns to go; default 1, at most as many as there are. */
  readonly steps?: number;
  /** Replace files that changed since the agent's last write. */
  readonly force?: boolean;
  /** Report only. */
  readonly dryRun?: boolean;
}

export type Outcome = "restored" | "deleted" | "created" | "conflict" | "skipped" | "unchanged";

export interface FileOutcome {
  readonly path: string;
  readonly outcome: Outcome;
  /** Why a file is in conflict or was skipped. */
  readonly reason?: string;
}

export interface RestoreReport {
  /** How many turns were rewound or replayed. */
  readonly turns: number;
  /** Their numbers, in the order they were rewound or replayed. */
  readonly turnNumbers: readonly number[];
  readonly files: readonly FileOutcome[];
  /** Paths whose present version was kept. */
  readonly conflicts: readonly string[];
  /** Turns that can still go the same way. */
  readonly remaining: number;
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

/** One interrupted restore: finished when the crash came after its point of no return, else taken back. */
export interface RecoveryReport {
  readonly sessionId: string;
  readonly result: "finished" | "taken_back" | "failed";
  readonly files: readonly FileOutcome[];
  /** Why it was not finished, where that was for anything but the crash. */
  readonly message?: string;
}

export interface GcReport {
  readonly sessionsRemoved: readonly string[];
  readonly baselinesRemoved: number;
  readonly blobsRemoved: number;
  readonly bytesFreed: number;
  readonly bytesKept: number;
}
