/** A model behind a vendor's HTTP endpoint. What differs between vendors is a wire: how to ask, and how to read the answer. */
import { AgentError, type AgentErrorCode, isAgentError } from "../errors.js";
import { type Framing, postForEvents } from "./framing.js";
import type { Model, ModelEvent, ModelRequest } from "./model.js";
import type { Post, PostRequest } from "./post.js";
import { createReply, type Reply } from "./reply.js";

/** Where a model is reached. */
export interface Endpoint extends Pick<Model, "provider" | "contextWindow" | "maxOutput" | "price"> {
  readonly model: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly post: Post;
}

/** A vendor's format; `S` is what its requests say besides the conversation. */
export interface Wire<S> {
  readonly headers: Readonly<Record<string, string>>;
  readonly framing: Framing;
  /** What continues a conversation, and a reader of what comes back. */
  request(conversation: ModelRequest, settings: S): Exchange;
}

export interface Exchange {
  readonly body: object;
  /** Reads one event of the vendor's into the reply; throws what the vendor reports as an error. */
  read(event: unknown, reply: Reply): void;
  /** A whole reply has ended: adds what could only be known then. */
  finish?(reply: Reply): void;
}

/** A model that speaks a wire. */
export function createWireModel<S>(wire: Wire<S>, options: S & Endpoint): Model {
  const { provider, model, contextWindow, maxOutput, price, url, post } = options;
  const headers = { "content-type": "application/json", ...wire.headers, ...options.headers };
  return {
    provider,
    id: model,
    contextWindow,
    ...(maxOutput !== undefined && { maxOutput }),
    price,
    stream: (request) => {
      const exchange = wire.request(request, options);
      const body = wellFormed(JSON.stringify(exchange.body));
      return readReply(post, { url, headers, body, signal: request.signal }, wire.framing, exchange);
    },
  };
}

/** A field that should be text: anything else is taken for none. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

// --- internal ---

/** Posts and reads the reply. What was understood before an error is handed on before the error is. */
async function* readReply(
  post: Post,
  request: PostRequest,
  framing: Framing,
  exchange: Exchange,
): AsyncGenerator<readonly ModelEvent[]> {
  const reply = createReply();
  const take = (event: unknown): void => {
    if (reply.closed) return;
    try {
      exchange.read(event, reply);
    } catch (error) {
      throw isAgentError(error) ? error : misread(error);
    }
  };
  try {
    for await (const _ of postForEvents(post, request, framing, take)) {
      if (reply.closed) break;
      const ready = reply.take();
      if (ready.length > 0) yield ready;
    }
  } catch (error) {
    // A connection that is lost after the last word took nothing with it.
    if (!reply.whole || !isAgentError(error) || !LOST.has(error.code)) throw error;
  }
  if (reply.whole) exchange.finish?.(reply);
  yield reply.takeLast();
}

const LOST: ReadonlySet<AgentErrorCode> = new Set(["connection_lost", "stalled"]);

function misread(cause: unknown): AgentError {
  return new AgentError("bad_reply", "the model sent something that is not its protocol", { cause });
}

/**
 * Half a character, as a text has where it was cut in the middle of one, is written as an escape that providers refuse: one
 * such text would spoil every request of its conversation.
 */
function wellFormed(json: string): string {
  if (!json.includes("\\ud")) return json;
  return json.replace(/\\(?:\\|ud[89a-f][0-9a-f]{2})/g, (found) => (found === "\\\\" ? found : "\\ufffd"));
}
