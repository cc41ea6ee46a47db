/** A model that speaks Anthropic Messages. */
import type { Model } from "../model.js";
import { createWireModel, type Endpoint, type Wire } from "../wire-model.js";
import { createAnthropicReader } from "./reply.js";
import { type AnthropicSettings, anthropicBody } from "./request.js";

export function createAnthropicModel(options: AnthropicSettings & Endpoint): Model {
  return createWireModel(messages, options);
}

// --- internal ---

const messages: Wire<AnthropicSettings> = {
  headers: { "anthropic-version": "2023-06-01" },
  body: anthropicBody,
  createReader: createAnthropicReader,
};
