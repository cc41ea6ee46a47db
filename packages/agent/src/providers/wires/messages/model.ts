/** Anthropic Messages, https://platform.claude.com/docs/en/api/messages: ordered blocks, with signed thinking. */
import type { AgentError } from "../../../errors.js";
import { asText } from "../../../json.js";
import { oddEnding, type Reply } from "../../exchange.js";
import type { ModelStop, ModelUsage } from "../../model.js";
import { providerError } from "../../provider-error.js";
import { type Exchange, speaking } from "../../wire.js";
import { type MessagesSettings, messagesRequest } from "./request.js";

export const createMessagesModel = speaking<MessagesSettings>({
  headers: { "anthropic-version": "2023-06-01" },
  framing: "events",
  request(conversation, settings) {
    const { body, digest } = messagesRequest(conversation, settings);
    return { body, ...createMessagesReader(digest) };
  },
  refusesSeal:
    /invalid `?(signature|data)`?|bound to a different|thinking`? blocks.*cannot be modified|each thinking block must/i,
  fallback: askOtherwise,
});

// --- internal ---

/** `after` is the digest of the request to which this is the reply. */
function createMessagesReader(after: string): Pick<Exchange, "read" | "finish"> {
  const open = new Map<number, OpenBlock>();
  let usage: ModelUsage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };

  const close = (block: OpenBlock, reply: Reply): void => {
    const { type, id, name, input, json, data } = block;
    // Some compatible servers send the input at once, others in pieces, and some both. The same is true of texts and signatures.
    if (type === "text") reply.text(block.begun);
    if (type === "thinking") reply.reasoning(block.begun);
    if (type === "tool_use") reply.call({ id, name, args: json || input });
    else if (type === "text") reply.end("text");
    else if (type === "thinking") reply.end("reasoning", { type, signature: block.pieces || block.signature, after });
    else if (type === "redacted_thinking") reply.end("reasoning", { type, data, after });
  };

  const end = (index: number, reply: Reply): void => {
    const block = open.get(index);
    open.delete(index);
    if (block) close(block, reply);
  };

  /** Closes the blocks whose end was not reported: some compatible servers leave it out, although blocks follow each other. */
  const closeAll = (reply: Reply): void => {
    for (const block of open.values()) close(block, reply);
    open.clear();
  };

  const addDelta = ({ index = 0, delta = {} }: WireEvent, reply: Reply): void => {
    const block = open.get(index);
    if (delta.type === "text_delta") addPiece(block, "text", asText(delta.text), reply);
    else if (!block) return;
    else if (delta.type === "input_json_delta") block.json += asText(delta.partial_json);
    else if (delta.type === "thinking_delta") addPiece(block, "reasoning", asText(delta.thinking), reply);
    else if (delta.type === "signature_delta") block.pieces += asText(delta.signature);
  };
  const openBlock = ({ index = 0, content_block: block = {} }: WireEvent, reply: Reply): void => {
    const type = asText(block.type);
    // Compatible servers may stream the calls of a reply side by side. One with the index of another follows it.
    for (const [at, other] of [...open])
      if (at === index || other.type !== "tool_use" || type !== "tool_use") end(at, reply);
    const begun = type === "text" ? asText(block.text) : type === "thinking" ? asText(block.thinking) : "";
    const input = type === "tool_use" && hasKeys(block.input) ? JSON.stringify(block.input) : "";
    const [id, name, data, signature] = [block.id, block.name, block.data, block.signature].map(asText) as FourTexts;
    open.set(index, { type, id, name, data, input, json: "", begun, signature, pieces: "" });
  };
  const count = (news: WireUsage | undefined, reply: Reply): void => {
    usage = merge(usage, news);
    reply.usage(usage);
  };
  const read = (event: WireEvent, reply: Reply): void => {
    // The most frequent types come first, because comparing a freshly parsed string is cheaper than a lookup.
    switch (event.type) {
      case "content_block_delta":
        addDelta(event, reply);
        break;
      case "content_block_start":
        openBlock(event, reply);
        break;
      case "content_block_stop":
        end(event.index ?? 0, reply);
        break;
      case "message_start":
        count(event.message?.usage, reply);
        break;
      case "message_delta":
        if (event.delta?.stop_reason)
          reply.stop(STOPS.get(event.delta.stop_reason) ?? oddEnding(event.delta.stop_reason));
        count(event.usage, reply);
        break;
      case "message_stop":
        if (!reply.whole) reply.stop("end");
        reply.close();
        break;
      case "error":
        throw reported(event.error);
    }
  };

  return { read, finish: closeAll };
}

/** Adds a piece, after the text with which its block began, unless the piece repeats that. */
function addPiece(block: OpenBlock | undefined, kind: "text" | "reasoning", piece: string, reply: Reply): void {
  const { begun = "" } = block ?? {};
  if (block && piece) block.begun = "";
  if (piece && !begun.startsWith(piece) && !piece.startsWith(begun)) reply[kind](begun);
  reply[kind](piece);
}

const ASKED = "\\b(?:thinking|adaptive|budget_tokens|output_config|effort)\\b";
const REFUSED =
  "(?:not support(?:ed)?|unsupported|not (?:permitted|allowed|recognized)|not match any|input should be|unknown|unrecognized|unexpected)";
/**
 * Messages with which Anthropic and compatible servers refuse a form of thinking: `"thinking.type.enabled" is not supported for this
 * model`, `output_config: Extra inputs are not permitted`, `claude-3-5-haiku does not support thinking`, `Input tag 'adaptive' … does
 * not match any of the expected tags`, `unknown field "thinking"`.
 */
const REFUSES_THINKING = new RegExp(`${ASKED}.{0,120}${REFUSED}|${REFUSED}.{0,60}${ASKED}`, "is");
/** Matches a refusal of an earlier message, which may mention thinking too. */
const ABOUT_A_MESSAGE = /\bmessages\.\d/;

/** After a refused form of thinking, tries the other form and then none. Lowers the output limit when that was refused. */
function askOtherwise(settings: MessagesSettings, said: string): MessagesSettings | null {
  const most = Number(/max_tokens: \d+ > (\d+)/.exec(said)?.[1]);
  if (most > 0 && most < settings.maxOutput) return { ...settings, maxOutput: most };
  const { thinking, refused = false } = settings;
  if (!thinking) return null;
  if (/start with a thinking block/i.test(said)) return { ...settings, thinking: null };
  if (!REFUSES_THINKING.test(said) || ABOUT_A_MESSAGE.test(said)) return null;
  if (refused) return { ...settings, thinking: null };
  return { ...settings, thinking: thinking === "budget" ? "adaptive" : "budget", refused: true };
}

interface WireEvent {
  type?: string;
  index?: number;
  message?: { usage?: WireUsage };
  content_block?: {
    type?: string;
    id?: string;
    name?: string;
    text?: string;
    thinking?: string;
    signature?: string;
    input?: unknown;
    data?: string;
  };
  delta?: {
    type?: string;
    text?: string;
    thinking?: string;
    signature?: string;
    partial_json?: string;
    stop_reason?: string | null;
  };
  usage?: WireUsage;
  error?: { type?: string; message?: string };
}

interface WireUsage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  cache_read_input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
  output_tokens_details?: { thinking_tokens?: number | null } | null;
}

type FourTexts = [string, string, string, string];

interface OpenBlock {
  readonly type: string;
  readonly id: string;
  readonly name: string;
  readonly data: string;
  /** The input with which a call began. */
  readonly input: string;
  json: string;
  /** The text with which it began, until a piece of text follows. */
  begun: string;
  /** The signature with which it began. */
  readonly signature: string;
  /** The pieces of a signature that followed. */
  pieces: string;
}

const STOPS: ReadonlyMap<string, ModelStop> = new Map([
  ["tool_use", "calls"],
  ["max_tokens", "max_tokens"],
  ["refusal", "refusal"],
  // https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons#pause-turn
  ["pause_turn", "pause"],
]);

function merge(usage: ModelUsage, news: WireUsage | undefined): ModelUsage {
  return {
    input: news?.input_tokens ?? usage.input,
    output: news?.output_tokens ?? usage.output,
    cacheRead: news?.cache_read_input_tokens ?? usage.cacheRead,
    cacheWrite: news?.cache_creation_input_tokens ?? usage.cacheWrite,
    reasoning: news?.output_tokens_details?.thinking_tokens ?? usage.reasoning,
  };
}

function hasKeys(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function reported(error: WireEvent["error"]): AgentError {
  return providerError(0, error?.type ?? "api_error", error?.message ?? "the provider reported an error");
}
