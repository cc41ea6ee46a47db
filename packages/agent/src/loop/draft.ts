/**
 * One reply while it streams: what the model says goes out as it comes, its calls get ids that every provider accepts, and its parts
 * are kept for the next request. Nothing is tried again here.
 */
import { setImmediate } from "node:timers/promises";
import type { AgentEvent, Json, Metadata, Seal, TextPart } from "@chimera/acp-schema/events";
import { createParts, type PartEvent, textOf } from "@chimera/acp-schema/parts";
import { startOf } from "@chimera/acp-schema/text";
import { AgentError } from "../errors.js";
import type { Model, ModelEvent, ModelMessage, ModelRequest, ModelStop, ModelUsage } from "../providers/model.js";
import { createPatience } from "./patience.js";
import { createRepeatedText } from "./repeats.js";

/** A call as the model wrote it, under an id that is new to the conversation. */
export interface RawCall {
  readonly id: string;
  readonly name: string;
  readonly args: string;
  readonly seal?: Json;
}

/** Which model is asked, how its calls get their ids, and where the events of a draft go. */
interface DraftContext {
  readonly model: Model;
  readonly ids: Pick<CallIds, "take">;
  readonly emit: (event: AgentEvent) => void;
  readonly taken: () => Promise<void>;
  /** Events that nobody has taken yet. */
  readonly pending: () => number;
}

/** What a step has produced so far; it stays readable when the step fails or is cancelled half-way. */
export type Draft = ReturnType<typeof createDraft>;

/** A reply that is about to begin, or to go on after `before`, which was shown of it before it broke off. */
export function createDraft(before: readonly TextPart[] = []) {
  return {
    before,
    /** Null where nothing was shown: then nothing can come again. */
    repeated: before.length > 0 ? createRepeatedText(textOf({ parts: before })) : null,
    /** What the model said, without what it thought and without what it had said before. */
    text: "",
    /** Characters of text and reasoning that arrived. */
    length: 0,
    /** Whether any text arrived. */
    spoke: false,
    /** Whether anything of it is on record. */
    shown: false,
    calls: [] as RawCall[],
    parts: createParts(),
    /** Ends of parts that are not on record yet: none has to be until something follows it, or the reply is whole. */
    ends: [] as Metadata<"part_end">[],
    usage: null as ModelUsage | null,
    stop: null as ModelStop | null,
  };
}

/** Puts an event on record, as part of the reply. */
export function tell(draft: Draft, event: PartEvent, emit: DraftContext["emit"]): void {
  draft.shown = true;
  draft.parts.apply(event);
  emit(event);
}

/** All that was said of the reply so far. */
export function wholeText(draft: Draft): string {
  return textOf({ parts: draft.before }) + draft.text;
}

/** A part's seal; none for one that is longer than any provider's, which would only fill the log. */
export function sealOf({ provider, id }: Pick<Model, "provider" | "id">, data: Json | undefined): { seal?: Seal } {
  if (data === undefined || JSON.stringify(data).length > LONGEST_SEAL) return {};
  return { seal: { provider, model: id, data } };
}

/** Fills `draft`. Throws what the provider reports, and `connection_lost` for a reply without an end. */
export async function streamReply(run: DraftContext, request: ModelRequest, draft: Draft): Promise<void> {
  const batches = run.model.stream(request)[Symbol.asyncIterator]();
  const patience = createPatience(request.signal, 0);
  let since = 0;
  try {
    for (;;) {
      const { value: batch, done } = await patience.wait(batches.next());
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
    patience.end();
    // Not awaited: a provider that hangs in its own clean-up must not hold the turn.
    batches.return?.().catch(() => {});
  }
  throw new AgentError("connection_lost", "the model's reply ended before it was complete");
}

export type CallIds = ReturnType<typeof createCallIds>;

/**
 * Gives each call an id that is new to the conversation and that every provider accepts, whatever the model sent: some
 * servers send none, or the same one each time.
 */
export function createCallIds(messages: readonly ModelMessage[], turn: number) {
  const used = new Set(messages.flatMap((message) => (message.role === "tool" ? [message.id] : [])));
  return {
    /** An id that is new to the conversation, like the wanted one if it can be. */
    take(wanted: string): string {
      let id = /^[A-Za-z0-9_-]{1,40}$/.test(wanted) ? wanted : `call-${turn}-${used.size}`;
      for (let n = used.size; used.has(id); n++) id = `call-${turn}-${n}`;
      used.add(id);
      return id;
    },
    /** The calls were dropped before anybody saw them: their ids may come again. */
    release(calls: readonly { readonly id: string }[]): void {
      for (const { id } of calls) used.delete(id);
    },
  };
}

// --- internal ---

/** Events that may wait for the consumer before the provider is read further. */
const WINDOW = 512;
/** Characters of text and thought; no model says as much in one reply. */
const LONGEST_REPLY = 8 * 1024 * 1024;
const MOST_CALLS = 1_024;
/** Characters of a reply, each event counting for some, after which the rest of the process has its turn. */
const SHARE = 256 * 1024;
const EVENT_COST = 32;

/** Takes what arrived together. Each delta goes out by itself, and those of one kind are kept as one text. */
function takeBatch(draft: Draft, batch: readonly ModelEvent[], context: DraftContext): void {
  // Joined by the batch: a text that grew delta by delta would keep every one of them alive until it is read.
  const said: string[] = [];
  for (const event of batch) take(draft, event, context, said);
  draft.text += said.join("");
}

/** Characters. */
const LONGEST_SEAL = 8 * 1024 * 1024;

const DELTAS = { text: "text_delta", reasoning: "thought_delta" } as const;

function take(draft: Draft, event: ModelEvent, context: DraftContext, said: string[]): void {
  if (event.type === "text") {
    draft.length += event.text.length;
    draft.spoke ||= event.text.trim() !== "";
    say(draft, "text", draft.repeated ? draft.repeated.take(event.text) : event.text, context, said);
    return;
  }
  if (draft.repeated && event.type !== "usage") say(draft, "text", draft.repeated.end(), context, said);
  switch (event.type) {
    case "reasoning":
      draft.length += event.text.length;
      say(draft, event.type, event.text, context, said);
      return;
    case "part_end": {
      draft.ends.push({ kind: event.kind, ...sealOf(context.model, event.seal) });
      return;
    }
    case "call": {
      const { name, args, seal } = event;
      const id = context.ids.take(event.id);
      draft.calls.push({ id, name, args, ...(seal !== undefined && { seal }) });
      draft.ends.push({ kind: "call", call_id: id });
      return;
    }
    case "usage":
      draft.usage = event.usage;
      return;
    case "stop":
      tellEnds(draft, null, context.emit);
      draft.stop = event.reason;
  }
}

function say(draft: Draft, kind: keyof typeof DELTAS, text: string, context: DraftContext, said: string[]): void {
  if (text === "") return;
  if (draft.ends.length > 0) tellEnds(draft, kind, context.emit);
  if (kind === "text") said.push(text);
  tell(draft, { type: DELTAS[kind], metadata: { text } }, context.emit);
}

/**
 * Puts the ends on record that matter: those with a seal, those of a part whose like follows, and the places of calls that something
 * else follows. `next` is what follows; null at the end of the reply.
 */
function tellEnds(draft: Draft, next: "text" | "reasoning" | null, emit: DraftContext["emit"]): void {
  const ends = draft.ends.splice(0);
  const lastOther = next === null ? ends.findLastIndex((end) => end.kind !== "call") : ends.length;
  for (const [at, end] of ends.entries()) {
    const following = ends[at + 1]?.kind ?? next;
    const matters = end.kind === "call" ? at < lastOther : end.seal !== undefined || following === end.kind;
    if (matters) tell(draft, { type: "part_end", metadata: end }, emit);
  }
}

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
