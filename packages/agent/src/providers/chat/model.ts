/** A model that speaks OpenAI Chat Completions: OpenAI itself and every server compatible with it. */
import type { Model } from "../model.js";
import type { Post } from "../post.js";
import { postAndRead } from "../wire-reader.js";
import { createChatReader } from "./reply.js";
import { type ChatSettings, chatBody } from "./request.js";

export interface ChatModelOptions extends ChatSettings, Pick<Model, "provider" | "contextWindow" | "price"> {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly post: Post;
}

export function createChatModel(options: ChatModelOptions): Model {
  const { provider, model, contextWindow, price, url, post } = options;
  const headers = { "content-type": "application/json", ...options.headers };
  return {
    provider,
    id: model,
    contextWindow,
    price,
    stream: (request) => {
      const body = chatBody(options, request);
      return postAndRead(post, { url, headers, body, signal: request.signal }, createChatReader());
    },
  };
}
