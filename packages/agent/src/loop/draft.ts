/** A reply while it streams: what the model says goes out as it comes, and its parts are kept for the next request. */
import type { AgentEvent, Json, Metadata, Seal } from "@chimera/acp-schema/events";
import { createParts, type PartEvent, type Parts } from "@chimera/acp-schema/parts";
import type { Model, ModelEvent, ModelStop, Usage } from "../providers/model.js";

/** What a step has produced so far; it stays readable when the step fails or is cancelled half-way. */
export interface Draft {
  /** What the model said, without what it thought. */
  text: string;
  /** Characters of text and reasoning. */
  length: number;
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
  readonly newId: (wanted: string) => string;
}

export function createDraft(): Draft {
  return { text: "", length: 0, calls: [], parts: createParts(), ends: [], usage: null, stop: null };
}

/** Whether anything came that a second try would repeat. */
export function hasBegun({ length, calls }: Draft): boolean {
  return length > 0 || calls.length > 0;
}

/** Takes what arrived together. Each delta goes out by itself, and those of one kind are kept as one text. */
export function takeBatch(draft: Draft, batch: readonly ModelEvent[], context: DraftContext): void {
  let kind: "text" | "reasoning" = "text";
  let pieces: string[] = [];
  const keep = (): void => {
    if (pieces.length === 0) return;
    const text = pieces.join("");
    pieces = [];
    draft.length += text.length;
    if (kind === "text") draft.text += text;
    draft.parts.apply({ type: DELTAS[kind], metadata: { text } });
  };
  for (const event of batch) {
    if (event.type !== "text" && event.type !== "reasoning") {
      keep();
      take(draft, event, context);
      continue;
    }
    if (event.type !== kind) keep();
    if (draft.ends.length > 0) tellEnds(draft, event.type, context.emit);
    kind = event.type;
    pieces.push(event.text);
    context.emit({ type: DELTAS[kind], metadata: { text: event.text } });
  }
  keep();
}

/** Puts an event on record, as part of the reply. */
export function tell(draft: Draft, event: PartEvent, emit: DraftContext["emit"]): void {
  draft.parts.apply(event);
  emit(event);
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

function take(draft: Draft, event: Exclude<ModelEvent, { type: "text" | "reasoning" }>, context: DraftContext): void {
  switch (event.type) {
    case "part_end": {
      draft.ends.push({ kind: event.kind, ...sealOf(context.model, event.seal) });
      return;
    }
    case "call": {
      const { name, args, seal } = event;
      const id = context.newId(event.id);
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
