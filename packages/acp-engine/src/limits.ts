/** Limits for an engine, which is another program and may be broken or hostile. */
export const limits = {
  /** How many milliseconds `initialize`, `session/new`, `session/resume` and `session/load` may each take. */
  openMs: 60_000,
  /** How many milliseconds after a cancel a program is killed if it ignores the cancel. */
  cancelMs: 10_000,
  /** How many milliseconds a program may take to end by itself after its connection has closed. */
  goneMs: 200,
  /** After how many milliseconds without an open session the program is ended. */
  idleMs: 600_000,
  /** A start that fails within this many milliseconds doubles the wait before the next one. */
  quickMs: 10_000,
  firstWaitMs: 500,
  longestWaitMs: 60_000,
  /** How many events may wait for the session. Above this, the program's output is not read. */
  waitingEvents: 512,
  /** How many bytes are kept of the end of the program's stderr, for error messages. */
  stderrBytes: 4096,
  /** The longest JSON of an update without a record type of its own that is kept. */
  vendorBytes: 16 * 1024,
  /** How many characters of a tool's output are kept. */
  outputChars: 256 * 1024,
  /** How many calls are remembered. */
  calls: 4096,
  /** For how many sessions without a listener updates are kept, and how many for each. */
  early: 256,
  /** How many characters of the conversation a new session of the engine gets as text. */
  retoldChars: 48 * 1024,
} as const;
