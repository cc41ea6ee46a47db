/** The limits of one connection. */
export const defaultLimits = {
  /** The longest accepted line. A longer one is answered with -32700 and skipped to its newline. */
  maxLineBytes: 32 * 1024 * 1024,
  /** The deepest accepted nesting of objects and arrays, counting the frame itself. */
  maxDepth: 64,
  /** `drained()` waits while more output than this is buffered. */
  highWaterBytes: 1024 * 1024,
  /** The input is paused while more output than this is buffered, so a peer that never reads cannot fill this process's memory. */
  pauseInputBytes: 16 * 1024 * 1024,
  /** How many of the peer's requests may be unanswered at once. One more is answered with -32001 at once, and its handler is not called. */
  maxOpenRequests: 4096,
  /** How long requests may still run after the input has ended, and after that how long the last output may take. */
  endGraceMs: 1000,
};

export type ConnectionLimits = Readonly<typeof defaultLimits>;
