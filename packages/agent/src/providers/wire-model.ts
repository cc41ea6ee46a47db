/** A model behind a vendor's HTTP endpoint: what differs between vendors is their headers, bodies and replies. */
import type { Model, ModelRequest } from "./model.js";
import type { Post } from "./post.js";
import { postAndRead, type WireReader } from "./wire-reader.js";

export interface Endpoint extends Pick<Model, "provider" | "contextWindow" | "price"> {
  readonly model: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly post: Post;
}

/** A vendor's format; `S` is what its requests are told beside the conversation. */
export interface Wire<S> {
  readonly headers: Readonly<Record<string, string>>;
  body(settings: S, request: ModelRequest): string;
  createReader(): WireReader;
}

export function createWireModel<S>(wire: Wire<S>, options: S & Endpoint): Model {
  const { provider, model, contextWindow, price, url, post } = options;
  const headers = { "content-type": "application/json", ...wire.headers, ...options.headers };
  return {
    provider,
    id: model,
    contextWindow,
    price,
    stream: (request) => {
      const body = wellFormed(wire.body(options, request));
      return postAndRead(post, { url, headers, body, signal: request.signal }, wire.createReader());
    },
  };
}

// --- internal ---

/**
 * Half a character, as a text has where it was cut in the middle of one, is written as an escape that providers refuse: one
 * such text would spoil every request of its conversation.
 */
function wellFormed(json: string): string {
  if (!json.includes("\\ud")) return json;
  return json.replace(/\\(?:\\|ud[89a-f][0-9a-f]{2})/g, (found) => (found === "\\\\" ? found : "\\ufffd"));
}
