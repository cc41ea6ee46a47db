/**
 * One reply while it streams: emits the model's words as they arrive, gives its calls ids that every provider accepts, and keeps its
 * parts for the next request. Retries are the caller's task.
 */
import { setImmediate } from "node:timers/promises";
import type { AgentEvent, Json, Metadata, Seal, TextPart } from "@chimera/acp-schema/events";
import { createParts, type PartEvent, textOf } from "@chimera/acp-schema/parts";
import { startOf } from "@chimera/acp-schema/text";
import { AgentError } from "../errors.js";
import type {
  Model,
  ModelEvent,
  ModelMessage,
  ModelRequest,
  ModelStop,
  ModelUsage,
  RawCall,
} from "../providers/model.js";
import { createPatience } from "./patience.js";
import { createRepeatedText } from "./repeats.js";

/** The model to ask, the source of call ids, and the receiver of the draft's events. */
interface DraftContext {
  readonly model: Model;
  readonly ids: Pick<CallIds, "take">;
  readonly emit: (event: AgentEvent) => void;
  readonly taken: () => Promise<void>;
  /** How many events the session has not taken yet. */
  readonly pending: () => number;
}

/** What a step has produced so far. It stays readable when the step fails or is cancelled. */
export type Draft = ReturnType<typeof createDraft>;

/** Starts a reply, or continues one that broke off; `before` is the text that was shown before the break. */
export function createDraft(before: readonly TextPart[] = []) {
  return {
    before,
    /** Null when nothing was shown, because then the model cannot repeat anything. */
    repeated: before.length > 0 ? createRepeatedText(textOf({ parts: before })) : null,
    /** The text of this draft, without reasoning and without `before`. */
    text: "",
    /** Characters of text and reasoning that have arrived. */
    length: 0,
    /** Whether any text has arrived. */
    spoke: false,
    /** Whether any part of the draft has been recorded. */
    shown: false,
    /** Under ids that are new to the conversation. */
    calls: [] as RawCall[],
    parts: createParts(),
    /** Ends of parts that are not recorded yet. An end waits until something follows it, or until the reply is complete. */
    ends: [] as Metadata<"part_end">[],
    usage: null as ModelUsage | null,
    stop: null as ModelStop | null,
  };
}

/** Adds an event to the reply and emits it for the log. */
export function recordPart(draft: Draft, event: PartEvent, emit: DraftContext["emit"]): void {
  draft.shown = true;
  draft.parts.apply(event);
  emit(event);
}

/** All text of the reply so far. */
export function wholeText(draft: Draft): string {
  return textOf({ parts: draft.before }) + draft.text;
}

/** A part's seal. Drops one that is longer than any provider's seals, because it would only fill the log. */
export function sealOf({ provider, id }: Pick<Model, "provider" | "id">, data: Json | undefined): { seal?: Seal } {
  if (data === undefined || JSON.stringify(data).length > LONGEST_SEAL) return {};
  return { seal: { provider, model: id, data } };
}

/** Fills `draft`. Throws the provider's error, or `connection_lost` when the reply stops without an end. */
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
    // Not awaited, so that a provider that hangs in its own clean-up does not block the turn.
    batches.return?.().catch(() => {});
  }
  throw new AgentError("connection_lost", "the model's reply ended before it was complete");
}

export type CallIds = ReturnType<typeof createCallIds>;

/**
 * Gives each call an id that is new to the conversation and that every provider accepts. Some servers send no ids, or the same id each
 * time.
 */
export function createCallIds(messages: readonly ModelMessage[], turn: number) {
  const used = new Set(messages.flatMap((message) => (message.role === "tool" ? [message.id] : [])));
  return {
    /** Returns the wanted id if it is valid and new, otherwise another one. */
    take(wanted: string): string {
      let id = /^[A-Za-z0-9_-]{1,40}$/.test(wanted) ? wanted : `call-${turn}-${used.size}`;
      for (let n = used.size; used.has(id); n++) id = `call-${turn}-${n}`;
      used.add(id);
      return id;
    },
    /** Frees the ids of calls that were dropped before they were recorded. */
    release(calls: readonly { readonly id: string }[]): void {
      for (const { id } of calls) used.delete(id);
    },
  };
}

// --- internal ---

/** Events that may wait for the consumer. Beyond that, reading from the provider pauses. */
const WINDOW = 512;
/** Most characters of text and reasoning. No model writes as much in one reply. */
const LONGEST_REPLY = 8 * 1024 * 1024;
const MOST_CALLS = 1_024;
/** After this many characters of a reply the rest of the process gets a turn. Each event counts for some characters too. */
const SHARE = 256 * 1024;
const EVENT_COST = 32;

/** Takes events that arrived together. Each delta is emitted by itself; the text is kept joined. */
function takeBatch(draft: Draft, batch: readonly ModelEvent[], context: DraftContext): void {
  // Join once per batch. Text appended delta by delta would keep every delta in memory until the text is read.
  const said: string[] = [];
  for (const event of batch) take(draft, event, context, said);
  draft.text += said.join("");
}

/** In characters. */
const LONGEST_SEAL = 8 * 1024 * 1024;

const DELTAS = { text: "text_delta", reasoning: "thought_delta" } as const;

function take(draft: Draft, event: ModelEvent, context: DraftContext, said: string[]): void {
  if (event.type === "text") {
    draft.length += event.text.length;
    draft.spoke ||= event.text.trim() !== "";
    emitDelta(draft, "text", draft.repeated ? draft.repeated.take(event.text) : event.text, context, said);
    return;
  }
  if (draft.repeated && event.type !== "usage") emitDelta(draft, "text", draft.repeated.end(), context, said);
  switch (event.type) {
    case "reasoning":
      draft.length += event.text.length;
      emitDelta(draft, event.type, event.text, context, said);
      return;
    case "part_end": {
      draft.ends.push({ kind: event.kind, ...sealOf(context.model, event.seal) });
      return;
    }
    case "call": {
      const { name, args, seal } = event;
      const id = context.ids.take(event.id);
      draft.calls.push({ id, name, args, seal });
      draft.ends.push({ kind: "call", call_id: id });
      return;
    }
    case "usage":
      draft.usage = event.usage;
      return;
    case "stop":
      recordEnds(draft, null, context.emit);
      draft.stop = event.reason;
  }
}

function emitDelta(draft: Draft, kind: keyof typeof DELTAS, text: string, context: DraftContext, said: string[]): void {
  if (text === "") return;
  if (draft.ends.length > 0) recordEnds(draft, kind, context.emit);
  if (kind === "text") said.push(text);
  recordPart(draft, { type: DELTAS[kind], metadata: { text } }, context.emit);
}

/**
 * Records the ends that matter: of parts with a seal, of parts that another part of the same kind follows, and of calls that something
 * other than a call follows. `next` is the kind of the following part; null at the end of the reply.
 */
function recordEnds(draft: Draft, next: "text" | "reasoning" | null, emit: DraftContext["emit"]): void {
  const ends = draft.ends.splice(0);
  const lastOther = next === null ? ends.findLastIndex((end) => end.kind !== "call") : ends.length;
  for (const [at, end] of ends.entries()) {
    const following = ends[at + 1]?.kind ?? next;
    const matters = end.kind === "call" ? at < lastOther : end.seal !== undefined || following === end.kind;
    if (matters) recordPart(draft, { type: "part_end", metadata: end }, emit);
  }
}

function costOf(batch: readonly ModelEvent[]): number {
  let cost = 0;
  for (const event of batch) cost += EVENT_COST + ("text" in event ? event.text.length : 0);
  return cost;
}

/** Splits a batch that is too large to log at once. Most batches stay whole. */
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
