/** One request to the model, its reply streamed out as it comes. Nothing is tried again here. */
import { AgentError } from "../errors.js";
import type { ModelRequest } from "../providers/model.js";
import { abortable } from "./abortable.js";
import { type Draft, takeBatch } from "./draft.js";
import type { Run } from "./run.js";

/** Events that may wait for the consumer before the provider is read further. */
const WINDOW = 512;
/** Characters of text and thought; no model says as much in one reply. */
const LONGEST_REPLY = 8 * 1024 * 1024;

/** Fills `draft`. Throws what the provider reports, and `connection_lost` for a reply without an end. */
export async function streamReply(
  run: Pick<Run, "model" | "ids" | "emit" | "taken" | "pending">,
  request: ModelRequest,
  draft: Draft,
): Promise<void> {
  const batches = run.model.stream(request)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { value: batch, done } = await abortable(batches.next(), request.signal, 0);
      if (done) break;
      takeBatch(draft, batch, run);
      if (draft.length > LONGEST_REPLY) throw new AgentError("bad_reply", "the model's reply has no end");
      if (run.pending() > WINDOW) await run.taken();
      if (draft.stop) return;
    }
  } finally {
    // Not awaited: a provider that hangs in its own clean-up must not hold the turn.
    batches.return?.().catch(() => {});
  }
  throw new AgentError("connection_lost", "the model's reply ended before it was complete");
}
