/** What an engine may take: it is another program, and may be broken or hostile. */
export const limits = {
  /** Milliseconds for `initialize`, for `session/new` and for `session/resume` or `session/load`. */
  openMs: 60_000,
  /** Milliseconds between a cancel that an engine ignores and its end. */
  cancelMs: 10_000,
  /** Milliseconds that a program has to end by itself once its connection is closed. */
  goneMs: 200,
  /** Milliseconds without a session in use after which the program is ended. */
  idleMs: 600_000,
  /** A start that fails within this many milliseconds doubles the wait before the next one. */
  quickMs: 10_000,
  firstWaitMs: 500,
  longestWaitMs: 60_000,
  /** Events that nobody has taken yet; above it the program's output is not read. */
  waitingEvents: 512,
  /** Bytes of the end of its stderr that an error quotes. */
  stderrBytes: 4096,
  /** Bytes of JSON kept of something that no record type has a place for. */
  vendorBytes: 16 * 1024,
  /** Characters of an answer of a tool that are kept. */
  outputChars: 256 * 1024,
  /** Calls, paths and updates remembered at once. */
  calls: 4096,
  early: 256,
  /** Characters of the conversation that a new session of the engine hears. */
  retoldChars: 48 * 1024,
} as const;
