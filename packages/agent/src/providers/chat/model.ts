/** A model that speaks OpenAI Chat Completions: OpenAI itself and every server compatible with it. */
import type { Model } from "../model.js";
import { createWireModel, type Endpoint, type Wire } from "../wire-model.js";
import { createChatReader } from "./reply.js";
import { type ChatSettings, chatBody } from "./request.js";

export function createChatModel(options: ChatSettings & Endpoint): Model {
  return createWireModel(completions, options);
}

// --- internal ---

const completions: Wire<ChatSettings> = { headers: {}, body: chatBody, createReader: createChatReader };
