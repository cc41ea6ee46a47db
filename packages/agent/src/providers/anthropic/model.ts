/** A model that speaks Anthropic Messages. */
import type { Model } from "../model.js";
import type { Post } from "../post.js";
import { postAndRead } from "../wire-reader.js";
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
    stream: (request) => {
      const body = anthropicBody(options, request);
      return postAndRead(post, { url, headers, body, signal: request.signal }, createAnthropicReader());
    },
  };
}
