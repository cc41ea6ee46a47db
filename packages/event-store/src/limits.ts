/** Every limit of this package, in one table. In bytes unless the name says otherwise. */
export const LIMITS = {
  /** A segment is closed and the next one started at this size. */
  segmentBytes: 4 * 1024 * 1024,
  /** Segments of one log. The store reads the header of each to find the log, and refuses a directory with more. */
  segments: 100_000,
  /** Queued lines are written at once when they reach this size, without waiting for the end of the tick. */
  writeBytes: 64 * 1024,
  /** Appended lines that are not delivered to readers yet. With more, the writer has to wait. */
  backlogBytes: 1024 * 1024,
  /** One encoded record. A larger append is refused with `too_large`. */
  recordBytes: 64 * 1024 * 1024,
  /** One summary. A larger file counts as damaged. */
  summaryBytes: 16 * 1024 * 1024,
  /** The birth in a segment's header. A longer one is left out, because 0.1 reads headers of at most 64 KiB. */
  birthBytes: 32 * 1024,
  /** How much of logs one list reads to make lost summaries again; the next list continues with the rest. */
  derivedBytes: 256 * 1024 * 1024,
  /** The index of all summaries that makes lists fast. A larger file is not used. */
  indexBytes: 256 * 1024 * 1024,
  /** Read size of a replay. Each read is a trip to another thread. */
  readBytes: 256 * 1024,
  /** About the size of a replay's batches: half of the size from which V8 stores a string as a large object. */
  pageBytes: 64 * 1024,
  /** Reads of replays at the same time; more would only wait for the same few threads. */
  readsInFlight: 8,
  /** Recent lines kept in memory for readers of one session that are a little behind. */
  windowBytesPerSession: 1024 * 1024,
  /** The same, over all sessions of the process. */
  windowBytesPerProcess: 64 * 1024 * 1024,
  /** Lines a memory session keeps before it forgets the oldest. */
  memorySessionBytes: 16 * 1024 * 1024,
  /** Files that writers and replays hold open; the least recently used one is closed first. */
  openFiles: 240,
  /** Summaries that are replaced at the same time. */
  replacements: 8,
  /** How long a session is found by the key of the request that made it. */
  keyMs: 24 * 60 * 60 * 1000,
  /** How long a hidden directory beside the sessions must be unchanged before it can be a leftover. */
  leftoverMs: 60_000,
  /** The time between two looks for leftovers of a process that holds sessions. */
  sweepMs: 10 * 60_000,
  /** `fdatasync` calls in flight per process; more would take the threads that other work needs. */
  syncsInFlight: 2,
  /** The time between two looks at a session that another process writes. */
  followMs: 100,
  /** The time between two beats of a process. */
  heartbeatMs: 5_000,
  /** A holder whose own heartbeat is older than this checks its claim again before it writes. */
  heartbeatLateMs: 15_000,
  /** A holder that is not provably dead loses its claim after its heartbeat stood still for this long. */
  heartbeatDeadMs: 30_000,
} as const;
