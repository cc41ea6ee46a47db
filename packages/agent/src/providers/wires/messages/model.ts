/** Anthropic Messages, https://platform.claude.com/docs/en/api/messages: blocks in order, thinking that is signed. */
import { budgetOf } from "../../effort.js";
import type { Model } from "../../model.js";
import { createWireModel, type Endpoint, type Wire } from "../../wire.js";
import { createMessagesReader } from "./reply.js";
import { type MessagesSettings, messagesRequest, type Thinking } from "./request.js";

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

const ASKED = "\\b(?:thinking|adaptive|budget_tokens|output_config|effort)\\b";
const REFUSED =
  "(?:not support(?:ed)?|unsupported|not (?:permitted|allowed|recognized)|not match any|input should be|unknown|unrecognized|unexpected)";
/**
 * How Anthropic and servers that imitate it say that they do not take a way of asking for thinking: `"thinking.type.enabled" is not
 * supported for this model`, `output_config: Extra inputs are not permitted`, `claude-3-5-haiku does not support thinking`,
 * `Input tag 'adaptive' … does not match any of the expected tags`, `unknown field "thinking"`.
 */
const REFUSES_THINKING = new RegExp(`${ASKED}.{0,120}${REFUSED}|${REFUSED}.{0,60}${ASKED}`, "is");
/** A refusal of what was said before, though it may name thinking too. */
const ABOUT_A_MESSAGE = /\bmessages\.\d/;

/** A model that does not take one way of asking for thinking gets the other one, then none. */
function askOtherwise(settings: MessagesSettings, said: string): MessagesSettings | null {
  const { thinking, maxOutput } = settings;
  if (!thinking) return null;
  if (/start with a thinking block/i.test(said)) return { ...settings, thinking: null };
  if (!REFUSES_THINKING.test(said) || ABOUT_A_MESSAGE.test(said)) return null;
  const { effort, refused, form } = thinking;
  if (refused) return { ...settings, thinking: null };
  const other: Thinking | null =
    form === "budget"
      ? { form: "adaptive", effort, refused: true }
      : effort && { form: "budget", effort, tokens: budgetOf(effort, maxOutput), refused: true };
  return { ...settings, thinking: other };
}
