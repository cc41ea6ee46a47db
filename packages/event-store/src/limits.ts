/** Every bound of this package, in one table. Bytes unless the name says otherwise. */
export const LIMITS = {
  /** A segment is closed and the next one started at this size. */
  segmentBytes: 4 * 1024 * 1024,
  /** Segments of one log, each of which is looked at to find the log among them. A directory with more is refused. */
  segments: 100_000,
  /** Queued lines are written at once when they reach this size, without waiting for the end of the tick. */
  writeBytes: 64 * 1024,
  /** One encoded record. A larger append is refused with `too_large`. */
  recordBytes: 64 * 1024 * 1024,
  /** One summary. A larger file counts as damaged. */
  summaryBytes: 16 * 1024 * 1024,
  /** What a segment's header says of its session's birth. More is left out: 0.1 reads headers of at most 64 KiB. */
  birthBytes: 32 * 1024,
  /** Logs that one list reads to make lost summaries again; the next list goes on with the rest. */
  derivedBytes: 256 * 1024 * 1024,
  /** The copy of all summaries that speeds up lists. A larger one is not used. */
  indexBytes: 256 * 1024 * 1024,
  /** Read size of a replay: each read is a trip to another thread. */
  readBytes: 256 * 1024,
  /** About the size of the batches a replay hands out. Half of what the engine keeps among its small, cheap strings. */
  pageBytes: 64 * 1024,
  /** Reads of replays under way; further ones wait. More would only wait for the same few threads. */
  readsInFlight: 8,
  /** Recent lines kept in memory for readers of one session that are a little behind. */
  windowBytesPerSession: 1024 * 1024,
  /** The same, over all sessions of the process. */
  windowBytesPerProcess: 64 * 1024 * 1024,
  /** Lines a memory session keeps before it forgets the oldest. */
  memorySessionBytes: 16 * 1024 * 1024,
  /** Files that writers and replays hold open; the one that nobody used for longest is closed first. */
  openFiles: 240,
  /** Summaries that are replaced at the same time. */
  replacements: 8,
  /** `fdatasync` calls in flight per process: more would only take threads from everybody else. */
  syncsInFlight: 2,
  /** How often another process's session is looked at while it is followed. */
  followMs: 100,
  /** How often a process shows that it lives. */
  heartbeatMs: 5_000,
  /** A holder whose own heartbeat is older than this looks at its claim again before it writes. */
  heartbeatLateMs: 15_000,
  /** A holder not provably dead loses its claim after its heartbeat stood still for this long. */
  heartbeatDeadMs: 30_000,
} as const;
