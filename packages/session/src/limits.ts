/** Every limit of sessions, in one place. */
import { requireDelay } from "@chimera/acp-schema/timer";
import { SessionError } from "./errors.js";

export const limits = {
  /** Prompts of a session that may wait. */
  queuedPrompts: 64,
  /** Prompts whose keys are remembered. */
  rememberedKeys: 100,
  /** Text deltas of one tick are joined up to this many characters. */
  deltaChars: 4096,
  /** Deltas that may wait for the end of their tick. With more, they are written earlier. */
  deltasPerWrite: 256,
  /** Characters of a delta. A longer one becomes several records, so that no reader gets a frame of megabytes. */
  recordChars: 64 * 1024,
  /** Characters of a turn's text that its last record repeats, from the end. */
  outputChars: 1024 * 1024,
  /** Bytes of `tool_progress` that are logged for a call. Further bytes are only counted. */
  progressBytes: 256 * 1024,
  /** How long an engine's question waits if no time is set: an older client does not show it, and the agent can continue without an answer. */
  questionSeconds: 600,
  titleLength: 200,
  /** Characters of a model's name. That of a script is a path. */
  modelChars: 4096,
  /** How long the summary may wait after a change inside a turn. Lists of other processes show it after that. */
  summaryDelayMs: 100,
  /** Bytes that an engine may remember in a session. */
  memoryBytes: 64 * 1024,
  /** Events of an engine that may wait until the log of their session is taken up. Further events are dropped. */
  unwrittenEvents: 1024,
  /** Evicted sessions that are remembered, so that they get exactly the same settings when they are loaded again. */
  evictedSessions: 4096,
  /** How long a cancelled agent may take to stop. Then its turn is ended without it. */
  unwindMs: 2000,
  /** How long the snapshot of a turn waits for unfinished writes of its agent. An editor may never answer. */
  lateWriteMs: 1000,
} as const;

/** Seconds without activity after which a session is unloaded. */
export const DEFAULT_SESSION_TTL = 3600;

/** Checks a time that an embedder sets. Without this check, a wrong value would later deny every permission request, or none. */
export function seconds(name: string, given: number | undefined, standard: number): number {
  if (given === undefined) return standard;
  try {
    return requireDelay(name, given);
  } catch (cause) {
    throw new SessionError("invalid_setting", (cause as Error).message, { cause });
  }
}
