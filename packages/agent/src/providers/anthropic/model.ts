/** A model that speaks Anthropic Messages. */
import type { Model, ModelEvent } from "../model.js";
import type { Post } from "../post.js";
import { postForEvents } from "../sse.js";
import { createAnthropicReader } from "./reply.js";
import { type AnthropicSettings, anthropicBody } from "./request.js";

export interface AnthropicModelOptions extends AnthropicSettings, Pick<Model, "provider" | "contextWindow" | "price"> {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly post: Post;
}

export function createAnthropicModel(options: AnthropicModelOptions): Model {
  const { provider, model, contextWindow, price, url, post } = options;
  const headers = { "content-type": "application/json", "anthropic-version": "2023-06-01", ...options.headers };
  return {
    provider,
    id: model,
    contextWindow,
    price,
    async *stream(request) {
      const read = createAnthropicReader();
      const body = anthropicBody(options, request);
      for await (const events of postForEvents(post, { url, headers, body, signal: request.signal })) {
        const out: ModelEvent[] = [];
        try {
          for (const event of events) read(event, out);
        } catch (error) {
          if (out.length > 0) yield out;
          throw error;
        }
        if (out.length > 0) yield out;
        if (out.at(-1)?.type === "stop") return;
      }
    },
  };
}
