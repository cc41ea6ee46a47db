/** Bounds of what is kept; each can be lowered or raised when the store is created. */
export interface SnapshotLimits {
  /** A larger file is never stored: it is reported as skipped and left alone. Default 25 MiB. */
  readonly fileBytes: number;
  /** Blobs of one session; beyond it the oldest turns can no longer be undone. Default 1 GiB. */
  readonly sessionBytes: number;
  /** Content kept per workspace so that edits by commands can be undone. Default 1 GiB. */
  readonly baselineBytes: number;
  /** Files watched per workspace for edits by commands. Default 100,000. */
  readonly baselineFiles: number;
  /** How long a command may be kept waiting for a workspace that is not in the index yet; the rest follows with the next. Default 15 s. */
  readonly baselineMs: number;
  /** What `gc` lets all sessions and workspaces hold together. Default 8 GiB. */
  readonly totalBytes: number;
  /** `gc` removes what nobody touched for this long. Default 30 days. */
  readonly idleMs: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: SnapshotLimits = {
  fileBytes: 25 * MIB,
  sessionBytes: 1024 * MIB,
  baselineBytes: 1024 * MIB,
  baselineFiles: 100_000,
  baselineMs: 15_000,
  totalBytes: 8 * 1024 * MIB,
  idleMs: 30 * 24 * 60 * 60 * 1000,
};
