/** One step: a request to the model, its reply streamed out as it comes, tried again while nothing has come yet. */
import { setImmediate } from "node:timers/promises";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import { AgentError, asAgentError } from "../errors.js";
import type { ModelEvent, ModelRequest, ModelStop, Usage } from "../providers/model.js";
import { abortable } from "./abortable.js";
import type { Run } from "./run.js";

/** What a step has produced so far; it stays readable when the step fails or is cancelled half-way. */
export interface Draft {
  text: string;
  thought: string;
  readonly sealed: unknown[];
  readonly calls: RawCall[];
  usage: Usage | null;
  stop: ModelStop | null;
}

/** A call as the model wrote it. */
export interface RawCall {
  readonly id: string;
  readonly name: string;
  readonly args: string;
}

const ATTEMPTS = 5;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** A provider that asks for more patience than this is reported instead of waited for. */
const LONGEST_RETRY_AFTER_MS = 60_000;
/** Events that may wait for the consumer before the provider is read further. */
const WINDOW = 512;
/** Characters of text and thought; no model says as much in one reply. */
const LONGEST_REPLY = 8 * 1024 * 1024;

/** Characters of a reply, each event counting for some, after which the rest of the process has its turn. */
const SHARE = 256 * 1024;
const EVENT_COST = 32;

export function createDraft(): Draft {
  return { text: "", thought: "", sealed: [], calls: [], usage: null, stop: null };
}

/** Fills `draft`. Retries what is worth retrying until the first token, never after it. */
export async function streamStep(
  run: Pick<Run, "model" | "clock" | "random" | "emit" | "taken" | "pending">,
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
      if (started(draft) || !error.retryable || !patience || attempt === ATTEMPTS) throw error;
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
  run: Pick<Run, "model" | "emit" | "taken" | "pending">,
  request: ModelRequest,
  draft: Draft,
): Promise<void> {
  const batches = run.model.stream(request)[Symbol.asyncIterator]();
  let since = 0;
  try {
    for (;;) {
      const { value: batch, done } = await abortable(batches.next(), request.signal, 0);
      if (done) break;
      draft.text += joined(batch, "text");
      draft.thought += joined(batch, "thought");
      for (const event of batch) {
        for (const part of partsOf(event)) {
          take(part, draft, run.emit);
          since += "text" in part ? part.text.length + EVENT_COST : EVENT_COST;
          if (since < SHARE) continue;
          since = 0;
          await run.taken();
          await setImmediate();
        }
      }
      if (draft.text.length + draft.thought.length > LONGEST_REPLY) throw endless();
      if (run.pending() > WINDOW) await run.taken();
      if (draft.stop) return;
    }
  } finally {
    // Not awaited: a provider that hangs in its own clean-up must not hold the turn.
    batches.return?.().catch(() => {});
  }
  throw new AgentError("connection_lost", "the model's reply ended before it was complete");
}

/** Joined by the batch: a text that grew delta by delta would keep every one of them alive until it is read. */
function joined(batch: readonly ModelEvent[], type: "text" | "thought"): string {
  return batch.map((event) => (event.type === type ? event.text : "")).join("");
}

/** A text too long to be logged at once comes in several. */
function partsOf(event: ModelEvent): readonly ModelEvent[] {
  if ((event.type !== "text" && event.type !== "thought") || event.text.length <= SHARE) return [event];
  const parts: ModelEvent[] = [];
  for (let rest = event.text; rest !== ""; ) {
    const text = rest.length <= SHARE ? rest : startOf(rest, SHARE);
    parts.push({ ...event, text });
    rest = rest.slice(text.length);
  }
  return parts;
}

function take(event: ModelEvent, draft: Draft, emit: (event: AgentEvent) => void): void {
  switch (event.type) {
    case "text":
      emit({ type: "text_delta", metadata: { text: event.text } });
      return;
    case "thought":
      emit({ type: "thought_delta", metadata: { text: event.text } });
      return;
    case "call":
      draft.calls.push(event);
      return;
    case "sealed":
      draft.sealed.push(event.block);
      return;
    case "usage":
      draft.usage = event.usage;
      return;
    case "stop":
      draft.stop = event.reason;
  }
}

function endless(): AgentError {
  return new AgentError("bad_reply", "the model's reply has no end");
}

function started(draft: Draft): boolean {
  return draft.text !== "" || draft.thought !== "" || draft.calls.length > 0;
}

function backoff(attempt: number, random: number): number {
  const full = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1));
  return full / 2 + (full / 2) * random;
}

function notice(text: string): AgentEvent {
  return { type: "notice", metadata: { level: "warning", text } };
}
