/** Undo and redo of files for a coding agent's turns: content-addressed, outside git, commands included. */
export type { SnapshotErrorCode } from "./errors.js";
export { isSnapshotError, SnapshotError } from "./errors.js";
export type { SnapshotLimits } from "./limits.js";
export { DEFAULT_LIMITS } from "./limits.js";
export { createSnapshotStore } from "./store.js";
export type {
  Direction,
  FileChange,
  FileEdit,
  FileOutcome,
  GcReport,
  Outcome,
  RecoveryReport,
  Restore,
  RestoreLog,
  RestoreOptions,
  SessionSnapshots,
  SnapshotReading,
  SnapshotStore,
  SnapshotStoreOptions,
  SnapshotWorkspace,
  TurnSnapshot,
  UnfinishedRestore,
} from "./types.js";
