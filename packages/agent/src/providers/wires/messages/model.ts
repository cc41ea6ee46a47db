/** Anthropic Messages, https://platform.claude.com/docs/en/api/messages: blocks in order, thinking that is signed. */
import type { Model } from "../../model.js";
import { createWireModel, type Endpoint, type Wire } from "../../wire.js";
import { createMessagesReader } from "./reply.js";
import { type MessagesSettings, messagesRequest } from "./request.js";

export function createMessagesModel(options: MessagesSettings & Endpoint): Model {
  return createWireModel(messages, options);
}

// --- internal ---

const messages: Wire<MessagesSettings> = {
  headers: { "anthropic-version": "2023-06-01" },
  framing: "events",
  request(conversation, settings) {
    const { body, digest } = messagesRequest(conversation, settings);
    return { body, ...createMessagesReader(digest) };
  },
  refusesSeal:
    /invalid `?(signature|data)`?|bound to a different|thinking`? blocks.*cannot be modified|each thinking block must/i,
  fallback: askOtherwise,
};

/** A model that does not take one way of asking for thinking gets the other one, then none; one that can say less is asked for less. */
function askOtherwise(settings: MessagesSettings, said: string): MessagesSettings | null {
  const most = Number(/max_tokens: \d+ > (\d+)/.exec(said)?.[1]);
  if (most > 0 && most < settings.maxOutput) return { ...settings, maxOutput: most };
  const { thinking, refused = false } = settings;
  if (!thinking) return null;
  if (/start with a thinking block/i.test(said)) return { ...settings, thinking: null };
  if (!/thinking|adaptive|budget_tokens|output_config|effort/i.test(said)) return null;
  if (refused) return { ...settings, thinking: null };
  return { ...settings, thinking: thinking === "budget" ? "adaptive" : "budget", refused: true };
}
