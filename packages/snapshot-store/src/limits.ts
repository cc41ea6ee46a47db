const MIB = 1024 * 1024;

/** The limits of a store; each can be changed when the store is created. */
export const DEFAULT_LIMITS = {
  /** A larger file is never stored: it is reported as skipped, and undo does not change it. */
  fileBytes: 25 * MIB,
  /** The blobs of one session; beyond this limit the oldest turns can no longer be undone. */
  sessionBytes: 1024 * MIB,
  /** The content stored per workspace, so that edits by commands can be undone. */
  baselineBytes: 1024 * MIB,
  /** The files indexed per workspace to find edits by commands. */
  baselineFiles: 100_000,
  /** How long a command waits while its workspace is indexed; later commands continue the index. */
  baselineMs: 15_000,
  /** The size of all sessions and workspaces together that `gc` allows. */
  totalBytes: 8 * 1024 * MIB,
  /** `gc` removes directories that have not changed for this long: 30 days. */
  idleMs: 30 * 24 * 60 * 60 * 1000,
};

export type SnapshotLimits = Readonly<typeof DEFAULT_LIMITS>;
