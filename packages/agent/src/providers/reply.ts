/** A reply while it is read off a wire: what the vendor's events say, kept until the next batch of model events is asked for. */
import type { Json } from "@chimera/acp-schema/events";
import { AgentError } from "../errors.js";
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

/**
 * Two events in a row that differ in one place, and led to the texts that stand there, show where the text of the next one is. Any
 * other event between them begins the search anew, so that a reader never misses what would change its mind.
 */
export function createRepeats(): Repeats {
  let first: TextEvent | null = null;
  let shown = false;
  let head = "";
  let tail = "";
  let attempts = 0;

  const between = (data: string): string | null => {
    const isAlike = data.length >= head.length + tail.length && data.startsWith(head) && data.endsWith(tail);
    return isAlike ? data.slice(head.length, data.length - tail.length) : null;
  };
  const begin = (data: string, led: TextEvent | null): void => {
    const at = led && PLAIN.test(led.text) ? data.indexOf(`"${led.text}"`) : -1;
    first = at < 0 ? null : led;
    shown = false;
    if (!first) return;
    attempts++;
    head = data.slice(0, at + 1);
    tail = data.slice(at + 1 + first.text.length);
  };

  return {
    get hopeful() {
      return attempts <= MOST_ATTEMPTS;
    },
    find(data) {
      const text = shown ? between(data) : null;
      return first && text !== null && PLAIN.test(text) ? { type: first.type, text } : null;
    },
    learn(data, led) {
      const text = first && led?.type === first.type ? between(data) : null;
      if (text === null || decoded(text) !== led?.text) begin(data, led);
      // The same text again would show nothing: it may stand in two places.
      else if (led.text !== first?.text) {
        shown = true;
        attempts = 0;
      }
    },
  };
}

/**
 * What an ending means that is not among a wire's own; throws what it reports as an error, so that a reply which failed at its end
 * does not pass for a good one. An ending nobody knows is an end.
 */
export function oddEnding(reason: unknown): ModelStop {
  const name = typeof reason === "string" ? reason.toLowerCase() : "";
  if (REFUSED.has(name)) return "refusal";
  if (FULL.has(name)) throw new AgentError("context_overflow", "the reply filled the model's context window");
  if (FAILED.has(name)) throw new AgentError("provider_failed", `the provider ended the reply with ${reason}`);
  return "end";
}

// --- internal ---

/** A piece of text or reasoning. */
type TextEvent = Extract<ModelEvent, { type: "text" | "reasoning" }>;

/** The reader's end of a reply. */
interface ReplyQueue extends Reply {
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

/**
 * Events that say what the one before said, with another text. Nearly all of a stream are, and parsing each of them is nearly all of
 * the work: a text that stands between what its neighbours share is cut out instead.
 */
interface Repeats {
  /** False once the stream has shown that it repeats nothing. */
  readonly hopeful: boolean;
  /** What an event leads to that differs from the two before it in its text alone; null where it has to be parsed. */
  find(data: string): TextEvent | null;
  /** An event that was parsed, and the one piece of text that it led to; null if it led to anything else. */
  learn(data: string, led: TextEvent | null): void;
}

/** Streams that number their events, or pad them, repeat nothing: they are left alone after so many. */
const MOST_ATTEMPTS = 16;

/** A text that JSON writes as it is. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what JSON does not write as they are.
const PLAIN = /^[^"\\\u0000-\u001f]+$/;

function decoded(text: string): string | null {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return null;
  }
}

/** z.ai's filter, https://docs.z.ai/api-reference/llm/chat-completion, and Bedrock's. */
const REFUSED: ReadonlySet<string> = new Set(["sensitive", "content_filtered", "guardrail_intervened"]);

/** Claude from 4.5 on and z.ai, https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons; Mistral's word is the last. */
const FULL: ReadonlySet<string> = new Set(["model_context_window_exceeded", "model_length"]);

/** z.ai, OpenRouter (https://openrouter.ai/docs/api-reference/overview), DeepSeek (https://api-docs.deepseek.com/api/create-chat-completion). */
const FAILED: ReadonlySet<string> = new Set([
  "network_error",
  "error",
  "insufficient_system_resource",
  "abort",
  "aborted",
  "timeout",
  "server_error",
]);
