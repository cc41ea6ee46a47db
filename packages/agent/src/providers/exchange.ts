/**
 * What the wires of all vendors share: what requests are made of (a person's prompt as text and pictures, a call as the model wrote it),
 * and a reply while it is read, kept until the next batch of model events is asked for.
 */
import type { CallPart, Json, PromptBlock } from "@chimera/acp-schema/events";
import { callsOf } from "@chimera/acp-schema/parts";
import { startOf } from "@chimera/acp-schema/text";
import { AgentError } from "../errors.js";
import { isJsonObject, type JsonObject, parseJson, parseObject } from "../json.js";
import { isPicture, type ToolImage } from "../tool.js";
import type { ModelEvent, ModelMessage, ModelStop, ModelUsage } from "./model.js";

export type PromptPart = { readonly type: "text"; readonly text: string } | ({ readonly type: "image" } & ToolImage);

/** Blocks that are neither text nor a picture are named in words, so that the model knows they were there. */
export function promptParts(prompt: {
  readonly text: string;
  readonly content?: readonly PromptBlock[];
}): PromptPart[] {
  const parts = prompt.content?.length ? prompt.content.map(partOf) : [{ type: "text" as const, text: prompt.text }];
  const said = parts.filter((part) => part.type !== "text" || part.text.trim() !== "");
  return said.length > 0 ? said : [{ type: "text", text: "(empty prompt)" }];
}

/** The same as one text where nothing else is in it, for wires that take a text or a list. */
export function promptContent<T>(
  prompt: Parameters<typeof promptParts>[0],
  wirePart: (part: PromptPart) => T,
): string | T[] {
  const parts = promptParts(prompt);
  return parts.every((part) => part.type === "text") ? parts.map((part) => part.text).join("\n") : parts.map(wirePart);
}

/**
 * Pictures that tools brought, in messages of their own, for wires whose results are text. Results follow their calls without a gap, so
 * pictures wait for the last one of a group.
 */
export function* withPictures(messages: readonly ModelMessage[]): Generator<ModelMessage> {
  let content: PromptBlock[] = [];
  for (const message of messages) {
    if (message.role !== "tool" && content.length > 0) {
      yield { role: "user", text: "", content };
      content = [];
    }
    yield message;
    if (message.role !== "tool" || !message.images?.length) continue;
    content.push({ type: "text", text: `Pictures from ${message.name}:` });
    content.push(...message.images.map((image) => ({ type: "image" as const, ...image })));
  }
  if (content.length > 0) yield { role: "user", text: "", content };
}

/** A name that every provider takes. */
const SENDABLE_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** What to seal a call with; undefined when there is nothing that the call itself does not say. */
export function sealOfCall(
  written: { readonly name: string; readonly args: string; readonly seal?: Json | undefined },
  call: Pick<CallPart, "name" | "args">,
): Json | undefined {
  const { name, args, seal: own } = written;
  const data = {
    ...(name !== call.name && SENDABLE_NAME.test(name) && { name }),
    ...(args !== JSON.stringify(call.args) && parseObject(args) && { args }),
    ...(own !== undefined && { own }),
  };
  return Object.keys(data).length > 0 ? data : undefined;
}

/** How the results of calls name them, by the id of each call: as the model did, and with its own id where it gave one. */
export function calledBy(messages: readonly ModelMessage[]): Map<string, { name: string; id?: string }> {
  const called = new Map<string, { name: string; id?: string }>();
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const part of callsOf(message)) called.set(part.id, ownName(writtenCall(part)));
  }
  return called;
}

/** A call's name, and the id that the model gave it: some give none, and are not sent one. */
export function ownName({ name, own }: WrittenCall): { name: string; id?: string } {
  return { name, ...(typeof own["id"] === "string" && { id: own["id"] }) };
}

/** What to send back. Nothing is taken on trust: a log may have been imported. */
export function writtenCall({ name, args, seal }: CallPart): WrittenCall {
  const data: JsonObject = isJsonObject(seal?.data) ? seal.data : {};
  const { name: called, args: text, own } = data;
  const input = typeof text === "string" ? parseObject(text) : null;
  return {
    name: typeof called === "string" && SENDABLE_NAME.test(called) ? called : name,
    args: input ? (text as string) : JSON.stringify(args),
    input: input ?? args,
    own: isJsonObject(own) ? own : {},
  };
}

/** What a wire says of a reply, in the order in which the vendor said it. */
export interface Reply {
  text(piece: string): void;
  reasoning(piece: string): void;
  /** The text or the reasoning ends here; one that had no piece is a part without text. */
  end(kind: "text" | "reasoning", seal?: Json): void;
  /** A complete call; `args` is the JSON text that the model wrote. */
  call(call: { readonly id: string; readonly name: string; readonly args: string; readonly seal?: Json }): void;
  /** The tokens of this request so far; a later one replaces it. */
  usage(usage: ModelUsage): void;
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
 * Events that say what the one before said, with another text. Nearly all of a stream are, and parsing each of them is nearly all of
 * the work: a text that stands between what its neighbours share is cut out instead.
 *
 * Two events in a row that differ in one place, and led to the texts that stand there, show where the text of the next one is. Any
 * other event between them begins the search anew, so that a reader never misses what would change its mind. `counter` is the key of a
 * number that does nothing but count events: it may differ too, where it comes before the text.
 */
export function createRepeats(counter?: string) {
  const mark = counter === undefined ? null : `"${counter}":`;
  let first: TextEvent | null = null;
  /** What the next events look like, once two have shown it: one match costs a sixth of what comparing the pieces does. */
  let shown: RegExp | null = null;
  /** What comes before the number, or before the text where there is none. */
  let lead = "";
  /** What stands between the number and the text; null without a number. */
  let link: string | null = null;
  let tail = "";
  let attempts = 0;

  const between = (data: string): string | null => {
    if (!data.startsWith(lead)) return null;
    let from = lead.length;
    if (link !== null) {
      while (/\d/.test(data.charAt(from))) from++;
      if (from === lead.length || !data.startsWith(link, from)) return null;
      from += link.length;
    }
    const to = data.length - tail.length;
    return to >= from && data.endsWith(tail) ? data.slice(from, to) : null;
  };
  const begin = (data: string, led: TextEvent | null): void => {
    const isUsable = led && data.length <= LONGEST_REPEAT && PLAIN.test(led.text);
    const at = isUsable ? data.indexOf(`"${led.text}"`) : -1;
    first = at < 0 ? null : led;
    shown = null;
    if (!first) return;
    attempts++;
    const head = data.slice(0, at + 1);
    const number = mark === null ? -1 : head.indexOf(mark);
    lead = mark === null || number < 0 ? head : head.slice(0, number + mark.length);
    link = lead === head ? null : head.slice(lead.length).replace(/^\d+/, "");
    tail = data.slice(at + 1 + first.text.length);
  };

  return {
    /** False once the stream has shown that it repeats nothing. */
    get hopeful() {
      return attempts <= MOST_ATTEMPTS;
    },
    /** What an event leads to that differs from the two before it in its text alone; null where it has to be parsed. */
    find(data: string): TextEvent | null {
      const text = shown?.exec(data)?.[1];
      return first && text !== undefined ? { type: first.type, text } : null;
    },
    /** An event that was parsed, and the one piece of text that it led to; null if it led to anything else. */
    learn(data: string, led: TextEvent | null): void {
      const text = first && led?.type === first.type ? between(data) : null;
      if (!led || text === null || parseJson(`"${text}"`) !== led.text) begin(data, led);
      // The same text again would show nothing: it may stand in two places.
      else if (led.text !== first?.text) {
        shown ??= new RegExp(
          `^${literal(lead)}${link === null ? "" : `\\d+${literal(link)}`}(${PLAIN_TEXT})${literal(tail)}$`,
        );
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

/** A call as the model wrote it: providers compare, cache or sign these words, so a call's seal keeps them. */
interface WrittenCall {
  readonly name: string;
  /** JSON text. */
  readonly args: string;
  /** The same as a value. */
  readonly input: JsonObject;
  /** What the wire sealed the call with. */
  readonly own: JsonObject;
}

function partOf(block: PromptBlock): PromptPart {
  const image = { mimeType: block["mimeType"], data: block["data"] };
  if (block.type === "image" && isPicture(image)) return { type: "image", ...image };
  return { type: "text", text: wordsFor(block) };
}

function wordsFor({ type, text, mimeType, uri, resource }: PromptBlock): string {
  if (type === "text") return String(text ?? "");
  if (type === "image") return `[a picture that cannot be shown: ${startOf(String(mimeType), 80)}]`;
  if (type === "resource" && isJsonObject(resource)) {
    const { text: contents, uri: path } = resource;
    if (typeof contents === "string") return `<file path=${JSON.stringify(path ?? "")}>\n${contents}\n</file>`;
    return `[resource: ${String(path ?? "unnamed")}]`;
  }
  return typeof uri === "string" ? `[resource: ${uri}]` : `[${type}]`;
}

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

/** Streams that number their events, or pad them, repeat nothing: they are left alone after so many. */
const MOST_ATTEMPTS = 16;
/** Characters of an event that is worth a pattern. */
const LONGEST_REPEAT = 8 * 1024;

/** A text that JSON writes as it is. */
const PLAIN_TEXT = '[^"\\\\\\u0000-\\u001f]+';
const PLAIN = new RegExp(`^${PLAIN_TEXT}$`);

/** The source of a pattern that matches a text and nothing else. */
function literal(text: string): string {
  return text.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");
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
