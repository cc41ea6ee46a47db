/**
 * What the wires of all vendors share: parts of requests (a person's prompt as text and pictures, a call as the model wrote it), and the
 * queue of a reply, which keeps its events until the next batch is taken.
 */
import type { CallPart, Json, PromptBlock } from "@chimera/acp-schema/events";
import { callsOf } from "@chimera/acp-schema/parts";
import { startOf } from "@chimera/acp-schema/text";
import { AgentError } from "../errors.js";
import { isJsonObject, type JsonObject, parseJson, parseObject } from "../json.js";
import { isPicture, type ToolImage } from "../tool.js";
import type { ModelEvent, ModelMessage, ModelStop, ModelUsage, RawCall } from "./model.js";

export type PromptPart = { readonly type: "text"; readonly text: string } | ({ readonly type: "image" } & ToolImage);

/** A block that is neither text nor a picture becomes a short text, so that the model knows about it. */
export function promptParts(prompt: {
  readonly text: string;
  readonly content?: readonly PromptBlock[];
}): PromptPart[] {
  const parts = prompt.content?.length ? prompt.content.map(partOf) : [{ type: "text" as const, text: prompt.text }];
  const said = parts.filter((part) => part.type !== "text" || part.text.trim() !== "");
  return said.length > 0 ? said : [{ type: "text", text: "(empty prompt)" }];
}

/** The same for wires that take a text or a list: one text if the prompt has no pictures. */
export function promptContent<T>(
  prompt: Parameters<typeof promptParts>[0],
  wirePart: (part: PromptPart) => T,
): string | T[] {
  const parts = promptParts(prompt);
  return parts.every((part) => part.type === "text") ? parts.map((part) => part.text).join("\n") : parts.map(wirePart);
}

/**
 * Puts pictures of tools into messages of their own, for wires on which a result is only text. Nothing may stand between a call and its
 * results, so the pictures follow the last result of a group.
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

/** A name that every provider accepts. */
const SENDABLE_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** The data to seal a call with; undefined when the call itself already holds everything. */
export function sealOfCall(
  written: Pick<RawCall, "name" | "args" | "seal">,
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

/** Call id -> the name and the id that the model itself gave the call. A result must repeat them. */
export function calledBy(messages: readonly ModelMessage[]): Map<string, { name: string; id?: string }> {
  const called = new Map<string, { name: string; id?: string }>();
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const part of callsOf(message)) called.set(part.id, ownName(writtenCall(part)));
  }
  return called;
}

/** A call's name and the id that the model gave it. A model that gives no ids gets none back. */
export function ownName({ name, own }: WrittenCall): { name: string; id?: string } {
  return { name, ...(typeof own["id"] === "string" && { id: own["id"] }) };
}

/** The call to send back. Validates the seal, because the log may have been imported. */
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

/** A wire reports a reply here, in the vendor's order. */
export interface Reply {
  text(piece: string): void;
  reasoning(piece: string): void;
  /** Ends the text or the reasoning. Without a piece before it, this is a part without text. */
  end(kind: "text" | "reasoning", seal?: Json): void;
  call(call: RawCall): void;
  /** The tokens of this request so far; a later one replaces it. */
  usage(usage: ModelUsage): void;
  /** The vendor has reported the end: the reply is complete. */
  stop(reason: ModelStop): void;
  /** The reader need not wait for anything more. */
  close(): void;
  /** True once `stop` was called. A reply that ends earlier broke off, and its calls must not run. */
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
    end: (kind, seal) => void events.push({ type: "part_end", kind, seal }),
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
 * Reads events that differ from the one before only in their text. Nearly all events of a stream do, and parsing them is nearly all of
 * the work. So the text is cut out from between the parts that such events share.
 *
 * Two events in a row that differ in one place, and whose parsed texts stand at that place, show where the text of the next event is.
 * Any other event between them restarts the search, so that no event with another meaning is missed. `counter` is the key of a number
 * that only counts events: it may differ too if it comes before the text.
 */
export function createTextShortcut(counter?: string) {
  const mark = counter === undefined ? null : `"${counter}":`;
  let first: TextEvent | null = null;
  /** Matches the next events, once two have shown their form. A match costs a sixth of comparing the pieces. */
  let shown: RegExp | null = null;
  /** The part before the number, or before the text if there is no number. */
  let lead = "";
  /** The part between the number and the text; null without a number. */
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
    const isUsable = led && data.length <= LONGEST_SHORTCUT && PLAIN.test(led.text);
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
    /** False once so many attempts have failed that the stream has no such events. */
    get hopeful() {
      return attempts <= MOST_ATTEMPTS;
    },
    /** The model event, if this event differs from those before it only in its text; null if it must be parsed. */
    find(data: string): TextEvent | null {
      const text = shown?.exec(data)?.[1];
      return first && text !== undefined ? { type: first.type, text } : null;
    },
    /** Takes a parsed event and its model event; null if that was anything but one piece of text. */
    learn(data: string, led: TextEvent | null): void {
      const text = first && led?.type === first.type ? between(data) : null;
      if (!led || text === null || parseJson(`"${text}"`) !== led.text) begin(data, led);
      // The same text again proves nothing, because it may occur in two places.
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
 * The meaning of a stop reason that the wire itself does not know. Throws for one that reports a failure, so that a failed reply does not
 * count as a good one. An unknown reason counts as a normal end.
 */
export function oddEnding(reason: unknown): ModelStop {
  const name = typeof reason === "string" ? reason.toLowerCase() : "";
  if (REFUSED.has(name)) return "refusal";
  if (FULL.has(name)) throw new AgentError("context_overflow", "the reply filled the model's context window");
  if (FAILED.has(name)) throw new AgentError("provider_failed", `the provider ended the reply with ${reason}`);
  return "end";
}

// --- internal ---

/** A call as the model wrote it. Providers compare, cache or sign the exact text, so a call's seal keeps it. */
interface WrittenCall {
  readonly name: string;
  /** JSON text. */
  readonly args: string;
  /** `args` as a value. */
  readonly input: JsonObject;
  /** The wire's own data in the seal. */
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

/** A reply as its reader uses it. */
interface ReplyQueue extends Reply {
  readonly closed: boolean;
  /** Adds a piece of text or reasoning that was recognised without parsing. */
  add(event: TextEvent): void;
  /** How many events are waiting. */
  readonly count: number;
  /** The only event since the count was `count`, if it is a piece of text or reasoning; otherwise null. */
  onlySince(count: number): TextEvent | null;
  /** Takes the events that are waiting. */
  take(): ModelEvent[];
  /** Takes the last batch of a complete reply, with its stop event. */
  takeLast(): ModelEvent[];
}

/** Attempts before the search stops. Streams that number or pad their events never succeed. */
const MOST_ATTEMPTS = 16;
/** Most characters in an event that is made into a pattern. */
const LONGEST_SHORTCUT = 8 * 1024;

/** A text that JSON writes without escapes. */
const PLAIN_TEXT = '[^"\\\\\\u0000-\\u001f]+';
const PLAIN = new RegExp(`^${PLAIN_TEXT}$`);

/** Pattern source that matches exactly this text. */
function literal(text: string): string {
  return text.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");
}

/** The content filters of z.ai (https://docs.z.ai/api-reference/llm/chat-completion) and Bedrock. */
const REFUSED: ReadonlySet<string> = new Set(["sensitive", "content_filtered", "guardrail_intervened"]);

/** Claude from 4.5 on (https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons) and z.ai; then Mistral. */
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
