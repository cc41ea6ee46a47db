/** Every bound of sessions, in one place. */
import { requireDelay } from "@chimera/acp-schema/timer";
import { SessionError } from "./errors.js";

export const limits = {
  /** Prompts accepted and not yet running, per session. */
  queuedPrompts: 64,
  /** Prompts whose keys are remembered. */
  rememberedKeys: 100,
  /** Text deltas of one tick are joined up to this many characters. */
  deltaChars: 4096,
  /** Deltas that wait for the end of their tick; more of them are written before it. */
  deltasPerWrite: 256,
  /** A longer delta becomes several records, so that no reader gets a frame of megabytes. */
  recordChars: 64 * 1024,
  /** How much of the end of a turn's text its last record repeats. */
  outputChars: 1024 * 1024,
  /** Bytes of `tool_progress` logged per call; what follows is counted. */
  progressBytes: 256 * 1024,
  /** How long a question waits where no time is set: an older client shows none, and the agent can go on without. */
  questionSeconds: 600,
  titleLength: 200,
  /** The longest name of a model; a script's is a path. */
  modelChars: 4096,
  /** How long a change inside a turn may wait before lists of other processes show it. */
  summaryDelayMs: 100,
  /** What an engine may remember in a session. */
  memoryBytes: 64 * 1024,
  /** Events of an engine that wait until the log of their session is taken up; it takes no more. */
  unwrittenEvents: 1024,
  /** Evicted sessions that are remembered as such: their settings come back exactly. */
  evictedSessions: 4096,
  /** How long a cancelled agent may take to unwind before its turn is ended without it. */
  unwindMs: 2000,
  /** How long the snapshot of a turn waits for writes that its agent left. An editor may never answer. */
  lateWriteMs: 1000,
} as const;

/** Seconds without activity after which a session is unloaded. */
export const DEFAULT_SESSION_TTL = 3600;

/** A time that an embedder sets. A value that is not a time is refused here; later it would deny every permission, or none. */
export function seconds(name: string, given: number | undefined, standard: number): number {
  if (given === undefined) return standard;
  try {
    return requireDelay(name, given);
  } catch (cause) {
    throw new SessionError("invalid_setting", (cause as Error).message, { cause });
  }
}
