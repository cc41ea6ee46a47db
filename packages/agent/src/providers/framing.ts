/** The events of a posted reply as they arrive: server-sent events, or a JSON object on each line. */
import { createParser } from "eventsource-parser";
import { AgentError, isAgentError } from "../errors.js";
import type { Post, PostReply, PostRequest } from "./post.js";
import { notStreamed, statusError } from "./provider-error.js";

export type Framing = "events" | "lines";

/** A reply that is a stream, fed chunk by chunk. Nothing is gathered: what a vendor sends is many times what is kept of it. */
export interface EventStream {
  readonly chunks: AsyncIterable<string>;
  /** Hands on the events that a chunk completes. */
  feed(chunk: string): void;
  /** Throws what went wrong with the chunks so far. */
  check(): void;
  /** The vendor said that nothing follows. */
  readonly done: boolean;
  /** The reply has ended. */
  end(): void;
}

/** Posts, checks the status, and gives the reply as a stream whose events go to `take`, each as the JSON text that it is. */
export async function postForEvents(
  post: Post,
  request: PostRequest,
  framing: Framing,
  take: (data: string) => void,
): Promise<EventStream> {
  const reply = await post(request);
  const { begins, isStream, open } = FRAMINGS[framing];
  if (reply.status !== 200 || !isStream(String(reply.headers["content-type"] ?? ""))) throw await statusError(reply);
  if (isEncoded(reply))
    throw new AgentError("bad_reply", "the provider compressed its reply, though nobody asked for it");

  const heard: Heard = { any: false, done: false, failure: null };
  const events = open(heard, (data) => {
    heard.any = true;
    if (heard.failure || heard.done) return;
    try {
      take(data);
    } catch (error) {
      heard.failure = { error: isAgentError(error) ? error : misread(error) };
    }
  });
  let opening = "";
  let length = 0;
  const check = (): void => {
    if (heard.failure) throw heard.failure.error;
  };
  return {
    chunks: reply.chunks,
    feed(chunk) {
      if (opening.length < SHOWN_OF_BODY) opening = (opening + chunk).slice(0, SHOWN_OF_BODY);
      events.feed(length === 0 && chunk.startsWith("\uFEFF") ? chunk.slice(1) : chunk);
      length += chunk.length;
      if (length > LONGEST_REPLY) heard.failure ??= { error: withoutEnd("the model's reply has no end") };
    },
    check,
    get done() {
      return heard.done;
    },
    end() {
      events.end();
      check();
      // What broke off before its first event may do better when asked again; what never was a stream will not.
      if (!heard.any && !begins.test(opening)) throw notStreamed(opening);
    },
  };
}

// --- internal ---

/**
 * The longest single event, and the longest reply, that are still taken for one, in characters. Each token of a reply may come in
 * half a kilobyte of event, and models think for more than a hundred thousand.
 */
const LONGEST_EVENT = 16 * 1024 * 1024;
const LONGEST_REPLY = 128 * 1024 * 1024;
const SHOWN_OF_BODY = 200;

interface Heard {
  any: boolean;
  /** The vendor said that nothing follows. */
  done: boolean;
  failure: { readonly error: unknown } | null;
}

interface FramingRow {
  /** How a stream begins, or one that sent nothing. */
  readonly begins: RegExp;
  isStream(contentType: string): boolean;
  /** Takes chunks, gives the text of each event. */
  open(heard: Heard, onData: (data: string) => void): Feed;
}

interface Feed {
  feed(chunk: string): void;
  /** The reply has ended. */
  end(): void;
}

const FRAMINGS: Readonly<Record<Framing, FramingRow>> = {
  events: {
    // With a field, or with a comment as a sign of life.
    begins: /^\uFEFF?\s*(?:$|:|(?:data|event|id|retry):)/,
    isStream: (contentType) => !contentType.startsWith("application/json"),
    open: openEvents,
  },
  lines: { begins: /^\uFEFF?\s*(?:$|\{)/, isStream: () => true, open: openLines },
};

function openEvents(heard: Heard, onData: (data: string) => void): Feed {
  const parser = createParser({
    maxBufferSize: LONGEST_EVENT,
    onEvent: ({ data }) => {
      if (data === "[DONE]") {
        heard.any = true;
        heard.done = true;
      } else onData(data);
    },
    onError: (cause) => {
      if (cause.type === "max-buffer-size-exceeded") heard.failure ??= { error: withoutEnd(ENDLESS_EVENT, cause) };
    },
  });
  return { feed: (chunk) => parser.feed(chunk), end: () => {} };
}

function openLines(heard: Heard, onData: (data: string) => void): Feed {
  let pieces: string[] = [];
  let length = 0;
  const take = (text: string): void => {
    for (const line of text.split("\n")) if (line.trim() !== "") onData(line);
  };
  return {
    feed(chunk) {
      const end = chunk.lastIndexOf("\n");
      if (end >= 0) {
        take(pieces.join("") + chunk.slice(0, end));
        pieces = [];
        length = 0;
      }
      pieces.push(chunk.slice(end + 1));
      length += chunk.length - end - 1;
      if (length > LONGEST_EVENT) heard.failure ??= { error: withoutEnd(ENDLESS_EVENT) };
    },
    // Not every server ends its last line. One that was cut is not JSON.
    end() {
      const last = pieces.join("").trim();
      if (last.endsWith("}") && isJson(last)) onData(last);
    },
  };
}

const ENDLESS_EVENT = "the model sent an event without end";

function withoutEnd(message: string, cause?: unknown): AgentError {
  return new AgentError("bad_reply", message, { cause });
}

function misread(cause: unknown): AgentError {
  return new AgentError("bad_reply", "the model sent something that is not its protocol", { cause });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isEncoded(reply: PostReply): boolean {
  return !/^(identity)?$/i.test(String(reply.headers["content-encoding"] ?? ""));
}
