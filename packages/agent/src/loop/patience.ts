/** Waiting until a provider that failed is worth asking again: how often, how long, and what people read meanwhile. */
import { AgentError } from "../errors.js";
import type { Run } from "./run.js";

/** Tries of one reply. With the waits between them that is about two minutes. */
const ATTEMPTS = 10;
/** A reply that stopped arriving is paid for each time, so it is asked for less often. */
const STALLED_ATTEMPTS = 3;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** A provider that asks for more patience than this is reported instead of waited for. */
const LONGEST_RETRY_AFTER_MS = 600_000;

/** What went wrong so far with one reply. */
export interface Failures {
  all: number;
  stalled: number;
}

export function noFailures(): Failures {
  return { all: 0, stalled: 0 };
}

/** Resolves when it is time to ask again. Throws the error itself when asking again is of no use, or was tried often enough. */
export async function waitToRetry(
  run: Pick<Run, "emit" | "clock" | "random" | "signal">,
  error: AgentError,
  failures: Failures,
  plan = "trying again",
): Promise<void> {
  const stalled = error.code === "stalled";
  failures.all++;
  if (stalled) failures.stalled++;
  const most = stalled ? STALLED_ATTEMPTS : ATTEMPTS;
  const times = stalled ? failures.stalled : failures.all;
  const asked = error.retryAfterMs ?? 0;
  if (!error.retryable || times >= most || failures.all >= ATTEMPTS) throw error;
  if (asked > LONGEST_RETRY_AFTER_MS) throw tooLong(error, asked);
  const wait = asked > 0 ? asked : backoff(failures.all, run.random());
  const text = `${error.message}; ${plan} in ${(wait / 1000).toFixed(1)} s (${times} of ${most - 1})`;
  run.emit({ type: "notice", metadata: { level: "warning", text } });
  await run.clock.sleep(wait, run.signal);
}

// --- internal ---

function tooLong(error: AgentError, asked: number): AgentError {
  const message = `${error.message}; it asks to be left alone for ${Math.ceil(asked / 60_000)} minutes`;
  return new AgentError(error.code, message, { cause: error, retryAfterMs: asked });
}

function backoff(failures: number, random: number): number {
  const full = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
  return full / 2 + (full / 2) * random;
}
