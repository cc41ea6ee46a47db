/** Bounds of one connection. */
export interface Limits {
  /** Longest accepted line; a longer one is answered -32700 and skipped to its newline. @defaultValue 32 MiB */
  readonly maxLineBytes: number;
  /** Deepest accepted nesting of objects and arrays, the frame itself included. @defaultValue 64 */
  readonly maxDepth: number;
  /** Output above this makes `drained()` wait. @defaultValue 1 MiB */
  readonly highWaterBytes: number;
  /** Output above this pauses the input, so a peer that never reads cannot grow this process. @defaultValue 16 MiB */
  readonly pauseInputBytes: number;
  /** Requests of the peer that may be unanswered at once; one more is answered -32001 at once, and is not begun. @defaultValue 4096 */
  readonly maxOpenRequests: number;
  /** How long requests may still run after the input ended, and then how long the last output may take. @defaultValue 1000 */
  readonly endGraceMs: number;
}

export const defaultLimits: Limits = {
  maxLineBytes: 32 * 1024 * 1024,
  maxDepth: 64,
  highWaterBytes: 1024 * 1024,
  pauseInputBytes: 16 * 1024 * 1024,
  maxOpenRequests: 4096,
  endGraceMs: 1000,
};
