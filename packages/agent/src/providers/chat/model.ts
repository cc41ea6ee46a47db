/** A model that speaks OpenAI Chat Completions: OpenAI itself and every server compatible with it. */
import type { Model, ModelEvent } from "../model.js";
import type { Post } from "../post.js";
import { postForEvents } from "../sse.js";
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
    async *stream(request) {
      const reader = createChatReader();
      const body = chatBody(options, request);
      for await (const chunks of postForEvents(post, { url, headers, body, signal: request.signal })) {
        const out: ModelEvent[] = [];
        try {
          for (const chunk of chunks) reader.read(chunk, out);
        } catch (error) {
          if (out.length > 0) yield out;
          throw error;
        }
        if (out.length > 0) yield out;
      }
      const last: ModelEvent[] = [];
      reader.finish(last);
      if (last.length > 0) yield last;
    },
  };
}
