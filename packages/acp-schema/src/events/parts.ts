/** `@chimera/acp-schema/parts`: makes a reply's parts from its events, for agents and for the fold of a log. Loads no schema. */
import { createGrowingText } from "../define/text.js";
import type { CallPart, Message, Part, ReasoningPart, TextPart } from "./message.js";
import type { Metadata } from "./metadata.js";
import type { AgentEvent } from "./record.js";

export type PartEvent = Extract<AgentEvent, { type: "text_delta" | "thought_delta" | "tool_call" | "part_end" }>;

export interface Parts {
  /** Takes the next event, in the order of the log. */
  apply(event: PartEvent): void;
  /** Returns the parts so far; the next event begins a new reply. Leaves out a call that has an end but was never announced. */
  take(): Part[];
}

/**
 * Collects the events of one reply after the other.
 *
 * @example
 * const parts = createParts();
 * parts.apply({ type: "text_delta", metadata: { text: "Hel" } });
 * parts.apply({ type: "text_delta", metadata: { text: "lo" } });
 * parts.take(); // [{ type: "text", text: "Hello" }]
 */
export function createParts(): Parts {
  let parts: (Part | UnannouncedCall)[] = [];
  const places = new Map<string, number>();
  let open: Said["type"] | null = null;
  const text = createGrowingText();

  const close = (seal?: Part["seal"]): void => {
    if (open === null) return;
    const part: Said = { type: open, text: text.take(), ...(seal && { seal }) };
    open = null;
    if (part.text !== "" || part.seal) parts.push(part);
  };
  const grow = (type: Said["type"], piece: string): void => {
    if (open !== type) close();
    open = type;
    text.add(piece);
  };
  /** Puts a call where its end was recorded, or else where it was announced. */
  const setCall = (id: string, news: Partial<CallPart>): void => {
    close();
    const at = places.get(id) ?? parts.length;
    places.set(id, at);
    parts[at] = { ...(parts[at] as UnannouncedCall | undefined), id, ...news };
  };
  const endPart = ({ kind, call_id, seal }: Metadata<"part_end">): void => {
    if (kind !== "call") {
      // A part may have only an end and no text, such as sealed reasoning.
      if (open !== kind) close();
      open = kind;
      close(seal);
    } else if (call_id !== undefined) setCall(call_id, seal ? { seal } : {});
  };

  return {
    apply(event) {
      switch (event.type) {
        case "text_delta":
          grow("text", event.metadata.text);
          break;
        case "thought_delta":
          grow("reasoning", event.metadata.text);
          break;
        case "tool_call": {
          const { call_id, tool, args } = event.metadata;
          setCall(call_id, { type: "call", name: tool, args });
          break;
        }
        case "part_end":
          endPart(event.metadata);
      }
    },
    take() {
      close();
      const taken = parts.filter((part): part is Part => "type" in part);
      parts = [];
      places.clear();
      return taken;
    },
  };
}

/**
 * The text of a reply, without its reasoning.
 *
 * @example
 * textOf({ parts: [{ type: "reasoning", text: "hm" }, { type: "text", text: "Done." }] }); // "Done."
 */
export function textOf({ parts }: { readonly parts: readonly Part[] }): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/**
 * The calls of a reply, in order.
 *
 * @example
 * const names = callsOf(message).map((call) => call.name);
 */
export function callsOf({ parts }: { readonly parts: readonly Part[] }): CallPart[] {
  return parts.filter((part) => part.type === "call");
}

/**
 * How many messages of a turn, after its prompt, the summary of a `compaction` record replaces.
 *
 * @example
 * const kept = messages.slice(summedUp(messages, record.metadata.from_call));
 */
export function summedUp(messages: readonly Message[], fromCall: string | null | undefined): number {
  if (fromCall === undefined) return 0;
  if (fromCall === null) return Math.max(0, messages.length - 1);
  const first = messages.findIndex(
    (message) => message.role === "assistant" && callsOf(message).some((call) => call.id === fromCall),
  );
  return Math.max(0, first - 1);
}

/** By record type, the field of the metadata that no client sees: a provider's seal, an engine's memory. */
const HIDDEN: Readonly<Record<string, string>> = { part_end: "seal", agent_session: "state" };

/**
 * Whether records of this type have a field that no client sees.
 *
 * @example
 * if (hasHidden(record.type)) show(asShown(record));
 */
export function hasHidden(type: string): boolean {
  return Object.hasOwn(HIDDEN, type);
}

/**
 * A record or an event without the field that no client sees.
 *
 * @example
 * response.write(JSON.stringify(asShown(record)));
 */
export function asShown<E extends { readonly type: string }>(event: E): E {
  if (!hasHidden(event.type)) return event;
  const { [HIDDEN[event.type]!]: _hidden, ...shown } = (event as E & { readonly metadata?: Record<string, unknown> })
    .metadata ?? { [HIDDEN[event.type]!]: undefined };
  return { ...event, metadata: shown };
}

// --- internal ---

type Said = TextPart | ReasoningPart;

/** Holds the place of a call that is not announced yet. */
type UnannouncedCall = Pick<CallPart, "id" | "seal"> & Partial<CallPart>;
