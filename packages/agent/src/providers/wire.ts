/**
 * A model at a vendor's HTTP endpoint. A wire holds what differs between vendors: how to ask, how the answer is framed, and how to read
 * it.
 */
import type { Part } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import { createParser } from "eventsource-parser";
import { AgentError, type AgentErrorCode, isAgentError } from "../errors.js";
import { parseJson } from "../json.js";
import { beginAgain } from "./begin-again.js";
import { createReply, createTextShortcut, type Reply } from "./exchange.js";
import type { Model, ModelEvent, ModelRequest } from "./model.js";
import type { Post, PostReply, PostRequest } from "./post.js";
import { notStreamed, statusError } from "./provider-error.js";

/** How to reach a model. */
export interface Endpoint extends Pick<Model, "provider" | "contextWindow" | "maxOutput" | "sees" | "price"> {
  readonly model: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly post: Post;
}

/** A vendor's format. `S` are the settings of its requests. */
export interface Wire<S> {
  /** Headers in addition to those of the endpoint. @defaultValue none */
  readonly headers?: Readonly<Record<string, string>>;
  readonly framing: Framing;
  /** The key of a number in events that only counts them. */
  readonly counter?: string;
  /** Makes the request that continues a conversation, and a reader for its reply. */
  request(conversation: ModelRequest, settings: S): Exchange;
  /** Matches the vendor's refusal of a seal. The conversation then continues without seals. */
  readonly refusesSeal?: RegExp;
  /** Returns the settings to use after a refusal with the message `said`; null when the message is not about the settings. */
  fallback?(settings: S, said: string, refused: ModelRequest): S | null;
}

export interface Exchange {
  readonly body: object;
  /** Adds one event of the vendor to the reply. Throws an error that the vendor reports. */
  read(event: object, reply: Reply): void;
  /** Called after a complete reply. Adds the events that are known only then. */
  finish?(reply: Reply): void;
}

/** Returns a function that makes models for a wire. */
export function speaking<S extends object>(wire: Wire<S>): (options: S & Endpoint) => Model {
  return (options) => createWireModel(wire, options);
}

// --- internal ---

/** Remembers the settings and seals that its vendor has refused, and does not try them again. */
function createWireModel<S extends object>(wire: Wire<S>, options: S & Endpoint): Model {
  const { provider, model, contextWindow, maxOutput, sees, price, url, post } = options;
  const headers = { "content-type": "application/json", ...wire.headers, ...options.headers };
  let settings: S = options;
  /** Sessions whose seals were refused. */
  const unsealed = new Set<string>();

  const canRecover = (error: unknown, asked: Asked<S>, request: ModelRequest): boolean => {
    const { session = "", messages } = request;
    if (!isAgentError(error) || !REFUSED.has(error.code)) return false;
    // Another request has changed the settings since this one was sent, so try again with the new ones.
    if (asked.settings !== settings || asked.bare !== unsealed.has(session)) return true;
    const sealed = messages.some((message) => message.role === "assistant" && message.parts.some((part) => part.seal));
    if (sealed && !asked.bare && wire.refusesSeal?.test(error.message)) {
      if (unsealed.size >= MOST_UNSEALED) unsealed.clear();
      unsealed.add(session);
      return true;
    }
    const changed = wire.fallback?.(settings, error.message, request) ?? null;
    settings = changed ?? settings;
    return changed !== null;
  };

  return {
    provider,
    id: model,
    contextWindow,
    maxOutput,
    sees,
    price,
    stream(request) {
      let asked: Asked<S> = { settings, bare: false };
      const ask = () => {
        asked = { settings, bare: unsealed.has(request.session ?? "") };
        const exchange = wire.request(asked.bare ? withoutSeals(request) : request, settings);
        const body = wellFormed(JSON.stringify(exchange.body));
        return readReply(post, { url, headers, body, signal: request.signal }, wire, exchange);
      };
      // A refusal comes before any part of a reply, so no text is repeated.
      return beginAgain(ask, (error) => canRecover(error, asked, request));
    },
  };
}

type Framing = "events" | "lines";

/** What a request was made with. */
interface Asked<S> {
  readonly settings: S;
  /** Whether it was sent without seals. */
  readonly bare: boolean;
}

const REFUSED: ReadonlySet<AgentErrorCode> = new Set(["bad_request", "model_unavailable", "context_overflow"]);
const MOST_UNSEALED = 256;

/** Posts and reads the reply. Yields the events before an error, and then throws the error. */
async function* readReply(
  post: Post,
  request: PostRequest,
  { framing, counter }: Pick<Wire<never>, "framing" | "counter">,
  exchange: Exchange,
): AsyncGenerator<readonly ModelEvent[]> {
  const reply = createReply();
  const shortcut = createTextShortcut(counter);
  const take = (data: string): void => {
    if (reply.closed) return;
    const again = shortcut.find(data);
    if (again) {
      reply.add(again);
      return;
    }
    const before = reply.count;
    const event = parsed(data);
    if (typeof event === "object" && event !== null) exchange.read(event, reply);
    if (shortcut.hopeful) shortcut.learn(data, reply.onlySince(before));
  };
  const row = FRAMINGS[framing];
  const events = createCutter(row, take);
  try {
    for await (const chunk of await streamed(post, request, row)) {
      const failure = events.feed(chunk);
      if (reply.closed) break;
      const ready = reply.take();
      if (ready.length > 0) yield ready;
      if (failure) throw failure.error;
      if (events.done) break;
    }
    if (!reply.closed && !events.done) events.end();
    // The vendor says that the reply is complete, and has given no reason for its end.
    if (events.done && events.count > 0 && !reply.whole) reply.stop("end");
  } catch (error) {
    // Ignore a lost connection after the stop event, because the reply is complete.
    if (!reply.whole || !isAgentError(error) || !LOST.has(error.code)) throw error;
  }
  if (reply.whole) exchange.finish?.(reply);
  yield reply.takeLast();
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (cause) {
    // Servers and proxies that fail in the middle of a reply write such lines, so it may succeed a little later.
    throw new AgentError("provider_failed", `the model sent what is not JSON: ${startOf(data, 200)}`, { cause });
  }
}

const LOST: ReadonlySet<AgentErrorCode> = new Set(["connection_lost", "stalled"]);

function withoutSeals(request: ModelRequest): ModelRequest {
  const bare = ({ seal: _seal, ...part }: Part): Part => part as Part;
  const messages = request.messages.map((message) =>
    message.role === "assistant" ? { ...message, parts: message.parts.map(bare) } : message,
  );
  return { ...request, messages };
}

/**
 * Replaces lone surrogates, which a text has when it was cut in the middle of a character. Providers refuse their escapes, so one
 * such text would break every later request of the conversation.
 */
function wellFormed(json: string): string {
  if (!json.includes("\\ud")) return json;
  return json.replace(/\\(?:\\|ud[89a-f][0-9a-f]{2})/g, (found) => (found === "\\\\" ? found : "\\ufffd"));
}

/**
 * Most characters in an event and in a reply. An event for a single token may have half a kilobyte, and models think for more than a
 * hundred thousand tokens.
 */
const LONGEST_EVENT = 16 * 1024 * 1024;
const LONGEST_REPLY = 128 * 1024 * 1024;
const SHOWN_OF_BODY = 200;

/** Posts a request and returns the chunks of its reply. Throws unless the reply is a stream. */
async function streamed(post: Post, request: PostRequest, { isStream }: FramingRow): Promise<AsyncIterable<string>> {
  const reply = await post(request);
  if (reply.status !== 200 || !isStream(String(reply.headers["content-type"] ?? ""))) throw await statusError(reply);
  if (isEncoded(reply)) throw badReply("the provider compressed its reply, which was not requested");
  return reply.chunks;
}

/** Cuts chunks into events, and passes on each as JSON text. Collects none, because a vendor sends many times what is kept. */
function createCutter({ begins, endMark, open }: FramingRow, take: (data: string) => void) {
  let opening = "";
  let length = 0;
  let count = 0;
  let isDone = false;
  const parser = open((data) => {
    isDone ||= data.trim() === endMark;
    // Some servers send an event without data to keep the connection alive.
    if (isDone || data.trim() === "") return;
    count += 1;
    try {
      take(data);
    } catch (error) {
      throw isAgentError(error) ? error : badReply("the model sent something that is not its protocol", error);
    }
  });
  return {
    /** Takes a chunk. Returns an error instead of throwing it, because the events before it count. */
    feed(chunk: string): { readonly error: unknown } | null {
      if (opening.length < SHOWN_OF_BODY) opening = (opening + chunk).slice(0, SHOWN_OF_BODY);
      try {
        parser.feed(length === 0 && chunk.startsWith("\uFEFF") ? chunk.slice(1) : chunk);
        length += chunk.length;
        if (length > LONGEST_REPLY) throw badReply("the model's reply has no end");
        return null;
      } catch (error) {
        return { error };
      }
    },
    /** Whether the vendor has sent its end mark. */
    get done() {
      return isDone;
    },
    /** How many other events it has sent. */
    get count() {
      return count;
    },
    /** Called at the end of the reply. */
    end() {
      parser.end();
      // A stream that broke off before its first event may succeed when asked again. Text that is not a stream will not.
      if (count === 0 && !isDone && !begins.test(opening)) throw notStreamed(opening);
    },
  };
}

interface FramingRow {
  /** Matches the beginning of a stream, and an empty one. */
  readonly begins: RegExp;
  /** The event with which vendors say that the reply is complete; null if there is none. */
  readonly endMark: string | null;
  isStream(contentType: string): boolean;
  /** Makes a parser that takes chunks and passes on the text of each event. */
  open(onData: (data: string) => void): Parser;
}

interface Parser {
  feed(chunk: string): void;
  /** Called at the end of the reply. */
  end(): void;
}

const END_MARK = "[DONE]";

const FRAMINGS: Readonly<Record<Framing, FramingRow>> = {
  events: {
    // A field, or a comment that keeps the connection alive.
    begins: /^\uFEFF?\s*(?:$|:|(?:data|event|id|retry):)/,
    endMark: END_MARK,
    isStream: (contentType) => !contentType.startsWith("application/json"),
    open: openEvents,
  },
  lines: { begins: /^\uFEFF?\s*(?:$|\{)/, endMark: null, isStream: () => true, open: openLines },
};

function openEvents(onData: (data: string) => void): Parser {
  let isEnding = false;
  const { feed } = createParser({
    maxBufferSize: LONGEST_EVENT,
    onEvent: ({ data }) => {
      // Some servers put no empty line between events, so that several arrive as the lines of one.
      const isOne = !data.includes("\n") || parseJson(data) !== undefined;
      for (const each of isOne ? [data] : data.split("\n"))
        if (!isEnding || each.trim() === END_MARK || parseJson(each) !== undefined) onData(each);
    },
    onError: (cause) => {
      if (cause.type === "max-buffer-size-exceeded") throw badReply(ENDLESS_EVENT, cause);
    },
  });
  return {
    feed,
    // Some servers do not end their last event. One that was cut off is not JSON.
    end() {
      isEnding = true;
      feed("\n\n");
    },
  };
}

function openLines(onData: (data: string) => void): Parser {
  let pieces: string[] = [];
  let length = 0;
  return {
    feed(chunk) {
      const end = chunk.lastIndexOf("\n");
      if (end >= 0) {
        const lines = (pieces.join("") + chunk.slice(0, end)).split("\n");
        pieces = [];
        length = 0;
        for (const line of lines) if (line.trim() !== "") onData(line);
      }
      pieces.push(chunk.slice(end + 1));
      length += chunk.length - end - 1;
      if (length > LONGEST_EVENT) throw badReply(ENDLESS_EVENT);
    },
    // Some servers do not end their last line. A line that was cut off is not JSON.
    end() {
      const last = pieces.join("").trim();
      if (last.endsWith("}") && parseJson(last) !== undefined) onData(last);
    },
  };
}

const ENDLESS_EVENT = "the model sent an endless event";

function badReply(message: string, cause?: unknown): AgentError {
  return new AgentError("bad_reply", message, { cause });
}

function isEncoded(reply: PostReply): boolean {
  return !/^(identity)?$/i.test(String(reply.headers["content-encoding"] ?? ""));
}
