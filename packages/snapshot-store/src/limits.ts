const MIB = 1024 * 1024;

/** Bounds of what is kept; each can be lowered or raised when the store is created. */
export const DEFAULT_LIMITS = {
  /** A larger file is never stored: it is reported as skipped and left alone. */
  fileBytes: 25 * MIB,
  /** Blobs of one session; beyond it the oldest turns can no longer be undone. */
  sessionBytes: 1024 * MIB,
  /** Content kept per workspace so that edits by commands can be undone. */
  baselineBytes: 1024 * MIB,
  /** Files watched per workspace for edits by commands. */
  baselineFiles: 100_000,
  /** How long a command may be kept waiting for a workspace that is not in the index yet; the rest follows with the next. */
  baselineMs: 15_000,
  /** What `gc` lets all sessions and workspaces hold together. */
  totalBytes: 8 * 1024 * MIB,
  /** `gc` removes what nobody touched for this long: 30 days. */
  idleMs: 30 * 24 * 60 * 60 * 1000,
};

export type SnapshotLimits = Readonly<typeof DEFAULT_LIMITS>;
