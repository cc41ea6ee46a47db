/** Bounds of one connection. */
export const defaultLimits = {
  /** Longest accepted line; a longer one is answered -32700 and skipped to its newline. */
  maxLineBytes: 32 * 1024 * 1024,
  /** Deepest accepted nesting of objects and arrays, the frame itself included. */
  maxDepth: 64,
  /** Output above this makes `drained()` wait. */
  highWaterBytes: 1024 * 1024,
  /** Output above this pauses the input, so a peer that never reads cannot grow this process. */
  pauseInputBytes: 16 * 1024 * 1024,
  /** Requests of the peer that may be unanswered at once; one more is answered -32001 at once, and is not begun. */
  maxOpenRequests: 4096,
  /** How long requests may still run after the input ended, and then how long the last output may take. */
  endGraceMs: 1000,
};

export type Limits = Readonly<typeof defaultLimits>;
