/**
 * Finds a passage in a text: first exactly, then as whole lines, where each rung ignores one more difference. The first rung that finds
 * any place decides. Similarity is never enough, because a similar passage may be a different one.
 */
import { AgentError } from "../../errors.js";
import { offThread } from "../off-thread.js";
import { climb, climbers, type Found } from "./climb.js";

export interface SearchOptions {
  /** How many places the caller can use. */
  readonly most: number;
  /** Whether to find only whole lines. */
  readonly whole?: boolean;
  readonly signal: AbortSignal;
}

/** Throws `too_slow` when the search reaches its time limit. */
export async function findPassage(text: string, old: string, options: SearchOptions): Promise<Found> {
  const { most, whole: isWhole = false, signal } = options;
  const wanted = { old, most, isWhole, longest: LONGEST_CLIMBED };
  if (text.length <= SHORT_TEXT && text.length * old.length <= SHORT_SEARCH) return climb(text, wanted);
  const how = { signal, limitMs: LIMIT_MS, uses: climbers };
  return offThread(climb, [text, wanted], how).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new AgentError("too_slow", `The passage cannot be looked for: ${(cause as Error).message}.`, { cause });
  });
}

// --- internal ---

/** Characters above which a text is searched on another thread. */
const SHORT_TEXT = 64 * 1024;
/** The same for the product of both lengths, because many lines alike make a search slow. */
const SHORT_SEARCH = SHORT_TEXT * 4096;
const LIMIT_MS = 5_000;
/** Characters above which only exact places are searched, because the text may have millions of lines. */
const LONGEST_CLIMBED = 4 * 1024 * 1024;
