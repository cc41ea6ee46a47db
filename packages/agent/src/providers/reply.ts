/** A reply while it is read off a wire: what the vendor's events say, kept until the next batch of model events is asked for. */
import type { Json } from "@chimera/acp-schema/events";
import type { ModelEvent, ModelStop, Usage } from "./model.js";

/** What a wire says of a reply, in the order in which the vendor said it. */
export interface Reply {
  text(piece: string): void;
  reasoning(piece: string): void;
  /** The text or the reasoning ends here; one that had no piece is a part without text. */
  end(kind: "text" | "reasoning", seal?: Json): void;
  /** A complete call; `args` is the JSON text that the model wrote. */
  call(call: { readonly id: string; readonly name: string; readonly args: string; readonly seal?: Json }): void;
  /** The tokens of this request so far; a later one replaces it. */
  usage(usage: Usage): void;
  /** The vendor's last word: the reply is whole. */
  stop(reason: ModelStop): void;
  /** Nothing follows that is worth waiting for. */
  close(): void;
  /** False until the vendor's last word: what ends without it was cut, and its calls must not run. */
  readonly whole: boolean;
}

/** A piece of text or reasoning. */
export type TextEvent = Extract<ModelEvent, { type: "text" | "reasoning" }>;

/** The reader's end of a reply. */
export interface ReplyQueue extends Reply {
  readonly closed: boolean;
  /** A piece of text or reasoning that needs no reading. */
  add(event: TextEvent): void;
  /** How many events wait to be taken. */
  readonly count: number;
  /** The piece of text or reasoning that is all that came since there were so many; null for anything else. */
  onlySince(count: number): TextEvent | null;
  /** What came since it was last asked for. */
  take(): ModelEvent[];
  /** The last batch of a whole reply. */
  takeLast(): ModelEvent[];
}

export function createReply(): ReplyQueue {
  let events: ModelEvent[] = [];
  let stop: ModelStop | null = null;
  let closed = false;
  const take = (): ModelEvent[] => {
    const taken = events;
    events = [];
    return taken;
  };
  return {
    text(text) {
      if (text) events.push({ type: "text", text });
    },
    reasoning(text) {
      if (text) events.push({ type: "reasoning", text });
    },
    end: (kind, seal) => void events.push({ type: "part_end", kind, ...(seal !== undefined && { seal }) }),
    call: (call) => void events.push({ type: "call", ...call }),
    usage: (usage) => void events.push({ type: "usage", usage }),
    stop(reason) {
      stop = reason;
    },
    close() {
      closed = true;
    },
    get whole() {
      return stop !== null;
    },
    get closed() {
      return closed;
    },
    add: (event) => void events.push(event),
    get count() {
      return events.length;
    },
    onlySince(count) {
      const only = events[count];
      const isOnly = only && events.length === count + 1 && stop === null;
      return isOnly && (only.type === "text" || only.type === "reasoning") ? only : null;
    },
    take,
    takeLast: () => [...take(), ...(stop ? [{ type: "stop", reason: stop } as const] : [])],
  };
}
