/** A model at a vendor's HTTP endpoint. What differs between vendors is a wire: how to ask, and how to read the answer. */
import type { Part } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import { AgentError, type AgentErrorCode, isAgentError } from "../errors.js";
import { beginAgain } from "./begin-again.js";
import { type Framing, postForEvents } from "./framing.js";
import type { Model, ModelEvent, ModelRequest } from "./model.js";
import type { Post, PostRequest } from "./post.js";
import { createRepeats } from "./repeats.js";
import { createReply, type Reply } from "./reply.js";

/** Where a model is reached. */
export interface Endpoint extends Pick<Model, "provider" | "contextWindow" | "maxOutput" | "sees" | "price"> {
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
  /** How the vendor says that it does not take a seal back: the conversation then goes on without any. */
  readonly refusesSeal?: RegExp;
  /** Settings to ask with from now on, after the vendor has refused a request in these words; null when they are not about the settings. */
  fallback?(settings: S, said: string, refused: ModelRequest): S | null;
}

export interface Exchange {
  readonly body: object;
  /** Reads one event of the vendor's into the reply; throws what the vendor reports as an error. */
  read(event: unknown, reply: Reply): void;
  /** A whole reply has ended: adds what could only be known then. */
  finish?(reply: Reply): void;
}

/** A model that speaks a wire. What its vendor refuses once is not tried again. */
export function createWireModel<S extends object>(wire: Wire<S>, options: S & Endpoint): Model {
  const { provider, model, contextWindow, maxOutput, sees, price, url, post } = options;
  const headers = { "content-type": "application/json", ...wire.headers, ...options.headers };
  let settings: S = options;
  /** Sessions whose seals were refused. */
  const unsealed = new Set<string>();

  const canRecover = (error: unknown, asked: Asked<S>, request: ModelRequest): boolean => {
    const { session = "", messages } = request;
    if (!isAgentError(error) || !REFUSED.has(error.code)) return false;
    // Another request has learned something since this one was sent.
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
    ...(maxOutput !== undefined && { maxOutput }),
    ...(sees !== undefined && { sees }),
    price,
    stream(request) {
      let asked: Asked<S> = { settings, bare: false };
      const ask = () => {
        asked = { settings, bare: unsealed.has(request.session ?? "") };
        const exchange = wire.request(asked.bare ? asShowns(request) : request, settings);
        const body = wellFormed(JSON.stringify(exchange.body));
        return readReply(post, { url, headers, body, signal: request.signal }, wire.framing, exchange);
      };
      // A refusal comes in place of a reply, so that nothing is said twice.
      return beginAgain(ask, (error) => canRecover(error, asked, request));
    },
  };
}

/** A field that should be text: anything else is taken for none. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

// --- internal ---

/** How a request was made. */
interface Asked<S> {
  readonly settings: S;
  /** Without seals. */
  readonly bare: boolean;
}

const REFUSED: ReadonlySet<AgentErrorCode> = new Set(["bad_request", "model_unavailable", "context_overflow"]);
const MOST_UNSEALED = 256;

/** Posts and reads the reply. What was understood before an error is handed on before the error is. */
async function* readReply(
  post: Post,
  request: PostRequest,
  framing: Framing,
  exchange: Exchange,
): AsyncGenerator<readonly ModelEvent[]> {
  const reply = createReply();
  const repeats = createRepeats();
  const take = (data: string): void => {
    if (reply.closed) return;
    const again = repeats.find(data);
    if (again) {
      reply.add(again);
      return;
    }
    const before = reply.count;
    exchange.read(parse(data), reply);
    if (repeats.hopeful) repeats.learn(data, reply.onlySince(before));
  };
  try {
    const events = await postForEvents(post, request, framing, take);
    for await (const chunk of events.chunks) {
      events.feed(chunk);
      if (reply.closed) break;
      const ready = reply.take();
      if (ready.length > 0) yield ready;
      events.check();
      if (events.done) break;
    }
    if (!reply.closed && !events.done) events.end();
  } catch (error) {
    // A connection that is lost after the last word took nothing with it.
    if (!reply.whole || !isAgentError(error) || !LOST.has(error.code)) throw error;
  }
  if (reply.whole) exchange.finish?.(reply);
  yield reply.takeLast();
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw new AgentError("bad_reply", `the model sent an event that is not JSON: ${startOf(data, 200)}`, { cause });
  }
}

const LOST: ReadonlySet<AgentErrorCode> = new Set(["connection_lost", "stalled"]);

function asShowns(request: ModelRequest): ModelRequest {
  const bare = ({ seal: _seal, ...part }: Part): Part => part as Part;
  const messages = request.messages.map((message) =>
    message.role === "assistant" ? { ...message, parts: message.parts.map(bare) } : message,
  );
  return { ...request, messages };
}

/**
 * Half a character, as a text has where it was cut in the middle of one, is written as an escape that providers refuse: one
 * such text would spoil every request of its conversation.
 */
function wellFormed(json: string): string {
  if (!json.includes("\\ud")) return json;
  return json.replace(/\\(?:\\|ud[89a-f][0-9a-f]{2})/g, (found) => (found === "\\\\" ? found : "\\ufffd"));
}
