/** One request to the model, its reply streamed out as it comes. Nothing is tried again here. */
import { setImmediate } from "node:timers/promises";
import { startOf } from "@chimera/acp-schema/text";
import { AgentError } from "../errors.js";
import type { ModelEvent, ModelRequest } from "../providers/model.js";
import { abortable } from "./abortable.js";
import { type Draft, takeBatch } from "./draft.js";
import type { Run } from "./run.js";

/** Events that may wait for the consumer before the provider is read further. */
const WINDOW = 512;
/** Characters of text and thought; no model says as much in one reply. */
const LONGEST_REPLY = 8 * 1024 * 1024;
const MOST_CALLS = 1_024;
/** Characters of a reply, each event counting for some, after which the rest of the process has its turn. */
const SHARE = 256 * 1024;
const EVENT_COST = 32;

/** Fills `draft`. Throws what the provider reports, and `connection_lost` for a reply without an end. */
export async function streamReply(
  run: Pick<Run, "model" | "ids" | "emit" | "taken" | "pending">,
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
      if (draft.length > LONGEST_REPLY || draft.calls.length > MOST_CALLS)
        throw new AgentError("bad_reply", "the model's reply has no end");
      if (run.pending() > WINDOW) await run.taken();
      if (draft.stop) return;
    }
  } finally {
    // Not awaited: a provider that hangs in its own clean-up must not hold the turn.
    batches.return?.().catch(() => {});
  }
  throw new AgentError("connection_lost", "the model's reply ended before it was complete");
}

// --- internal ---

function costOf(batch: readonly ModelEvent[]): number {
  let cost = 0;
  for (const event of batch) cost += EVENT_COST + ("text" in event ? event.text.length : 0);
  return cost;
}

/** What is too much to be logged at once comes in several parts; most batches are one. */
function sharesOf(batch: readonly ModelEvent[]): readonly (readonly ModelEvent[])[] {
  if (costOf(batch) <= SHARE) return [batch];
  return batch.flatMap((event) => piecesOf(event).map((piece) => [piece]));
}

function piecesOf(event: ModelEvent): ModelEvent[] {
  if (!("text" in event) || event.text.length <= SHARE) return [event];
  const pieces: ModelEvent[] = [];
  for (let rest = event.text; rest !== ""; ) {
    const text = rest.length <= SHARE ? rest : startOf(rest, SHARE);
    pieces.push({ ...event, text });
    rest = rest.slice(text.length);
  }
  return pieces;
}
