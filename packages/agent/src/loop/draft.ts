/** A reply while it streams: what the model says goes out as it comes, and its parts are kept for the next request. */
import type { AgentEvent, Json, Metadata, Seal, TextPart } from "@chimera/acp-schema/events";
import { createParts, type PartEvent, type Parts, textOf } from "@chimera/acp-schema/parts";
import type { Model, ModelEvent, ModelStop, Usage } from "../providers/model.js";
import type { CallIds } from "./call-ids.js";
import { createRepeatedText, type RepeatedText } from "./repeated-text.js";

/** What a step has produced so far; it stays readable when the step fails or is cancelled half-way. */
export interface Draft {
  /** What was shown of the same reply before it broke off. */
  readonly before: readonly TextPart[];
  readonly repeated: RepeatedText;
  /** What the model said, without what it thought and without what it had said before. */
  text: string;
  /** Characters of text and reasoning that arrived. */
  length: number;
  /** Whether any text arrived. */
  spoke: boolean;
  /** Whether anything of it is on record. */
  shown: boolean;
  readonly calls: RawCall[];
  readonly parts: Parts;
  /** Ends of parts that are not on record yet: none has to be until something follows it, or the reply is whole. */
  readonly ends: Metadata<"part_end">[];
  usage: Usage | null;
  stop: ModelStop | null;
}

/** A call as the model wrote it, under an id that is new to the conversation. */
export interface RawCall {
  readonly id: string;
  readonly name: string;
  readonly args: string;
  readonly seal?: Json;
}

/** Where the events of a draft go, whose seals they carry, and how its calls get their ids. */
export interface DraftContext {
  readonly model: Pick<Model, "provider" | "id">;
  readonly emit: (event: AgentEvent) => void;
  readonly ids: Pick<CallIds, "take">;
}

/** A reply that is about to begin, or to go on after `before`. */
export function createDraft(before: readonly TextPart[] = []): Draft {
  return {
    before,
    repeated: createRepeatedText(textOf({ parts: before })),
    text: "",
    length: 0,
    spoke: false,
    shown: false,
    calls: [],
    parts: createParts(),
    ends: [],
    usage: null,
    stop: null,
  };
}

/** Takes what arrived together. Each delta goes out by itself, and those of one kind are kept as one text. */
export function takeBatch(draft: Draft, batch: readonly ModelEvent[], context: DraftContext): void {
  // Joined by the batch: a text that grew delta by delta would keep every one of them alive until it is read.
  const said: string[] = [];
  for (const event of batch) take(draft, event, context, said);
  draft.text += said.join("");
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
export function sealOf({ provider, id }: DraftContext["model"], data: Json | undefined): { seal?: Seal } {
  if (data === undefined || JSON.stringify(data).length > LONGEST_SEAL) return {};
  return { seal: { provider, model: id, data } };
}

// --- internal ---

/** Characters. */
const LONGEST_SEAL = 8 * 1024 * 1024;

const DELTAS = { text: "text_delta", reasoning: "thought_delta" } as const;

function take(draft: Draft, event: ModelEvent, context: DraftContext, said: string[]): void {
  if (event.type === "text") {
    draft.length += event.text.length;
    draft.spoke ||= event.text.trim() !== "";
    say(draft, "text", draft.repeated.take(event.text), context, said);
    return;
  }
  if (event.type !== "usage") say(draft, "text", draft.repeated.end(), context, said);
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
