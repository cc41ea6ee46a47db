/** One step: a request to the model, its reply streamed out as it comes, tried again while nothing has come yet. */
import { setImmediate } from "node:timers/promises";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import { AgentError, asAgentError } from "../errors.js";
import type { ModelEvent, ModelRequest } from "../providers/model.js";
import { abortable } from "./abortable.js";
import { type Draft, type DraftContext, hasBegun, takeBatch } from "./draft.js";
import type { Run } from "./run.js";

const ATTEMPTS = 5;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** A provider that asks for more patience than this is reported instead of waited for. */
const LONGEST_RETRY_AFTER_MS = 60_000;
/** Events that may wait for the consumer before the provider is read further. */
const WINDOW = 512;
/** Characters of a reply, each event counting for some, after which the rest of the process has its turn. */
const SHARE = 256 * 1024;
const EVENT_COST = 32;
/** Characters of text and thought; no model says as much in one reply. */
const LONGEST_REPLY = 8 * 1024 * 1024;

/** Fills `draft`. Retries what is worth retrying until the first token, never after it. */
export async function streamStep(
  run: Pick<Run, "model" | "clock" | "random" | "emit" | "taken" | "pending"> & Pick<DraftContext, "newId">,
  request: ModelRequest,
  draft: Draft,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await streamOnce(run, request, draft);
      return;
    } catch (thrown) {
      request.signal.throwIfAborted();
      const error = asAgentError(thrown);
      const patience = (error.retryAfterMs ?? 0) <= LONGEST_RETRY_AFTER_MS;
      if (hasBegun(draft) || !error.retryable || !patience || attempt === ATTEMPTS) throw error;
      const wait = error.retryAfterMs ?? backoff(attempt, run.random());
      run.emit(
        notice(`${error.message}; trying again in ${(wait / 1000).toFixed(1)} s (${attempt} of ${ATTEMPTS - 1})`),
      );
      await run.clock.sleep(wait, request.signal);
    }
  }
}

// --- internal ---

async function streamOnce(
  run: Pick<Run, "model" | "emit" | "taken" | "pending"> & Pick<DraftContext, "newId">,
  request: ModelRequest,
  draft: Draft,
): Promise<void> {
  const batches = run.model.stream(request)[Symbol.asyncIterator]();
  let since = 0;
  try {
    for (;;) {
      const { value: batch, done } = await abortable(batches.next(), request.signal, 0);
      if (done) break;
      for (const share of sharesOf(batch)) {
        takeBatch(draft, share, run);
        since += costOf(share);
        if (since < SHARE) continue;
        since = 0;
        await run.taken();
        await setImmediate();
      }
      if (draft.length > LONGEST_REPLY) throw endless();
      if (run.pending() > WINDOW) await run.taken();
      if (draft.stop) return;
    }
  } finally {
    // Not awaited: a provider that hangs in its own clean-up must not hold the turn.
    batches.return?.().catch(() => {});
  }
  throw new AgentError("connection_lost", "the model's reply ended before it was complete");
}

/** A batch cut where the rest of the process should have its turn; a text too long to be logged at once comes in several pieces. */
function* sharesOf(batch: readonly ModelEvent[]): Generator<readonly ModelEvent[]> {
  if (costOf(batch) < SHARE) {
    yield batch;
    return;
  }
  let share: ModelEvent[] = [];
  let cost = 0;
  for (const event of batch.flatMap(piecesOf)) {
    share.push(event);
    cost += costOf([event]);
    if (cost < SHARE) continue;
    yield share;
    share = [];
    cost = 0;
  }
  yield share;
}

function costOf(events: readonly ModelEvent[]): number {
  let cost = 0;
  for (const event of events) cost += "text" in event ? event.text.length + EVENT_COST : EVENT_COST;
  return cost;
}

function piecesOf(event: ModelEvent): readonly ModelEvent[] {
  if (!("text" in event) || event.text.length <= SHARE) return [event];
  const pieces: ModelEvent[] = [];
  for (let rest = event.text; rest !== ""; ) {
    const text = rest.length <= SHARE ? rest : startOf(rest, SHARE);
    pieces.push({ ...event, text });
    rest = rest.slice(text.length);
  }
  return pieces;
}

function endless(): AgentError {
  return new AgentError("bad_reply", "the model's reply has no end");
}

function backoff(attempt: number, random: number): number {
  const full = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1));
  return full / 2 + (full / 2) * random;
}

function notice(text: string): AgentEvent {
  return { type: "notice", metadata: { level: "warning", text } };
}
