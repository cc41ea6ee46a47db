/**
 * OpenAI Responses, https://platform.openai.com/docs/api-reference/responses: a reply is a list of items. The vendor stores nothing, so
 * the items go back unchanged, encrypted reasoning included.
 */
import type { Json } from "@chimera/acp-schema/events";
import { asText, isJsonObject, type JsonObject } from "../../json.js";
import type { Reply } from "../exchange.js";
import { type PromptPart, promptContent, writtenCall } from "../exchange.js";
import type { Efforts, ModelMessage, ModelRequest, ModelStop, ModelUsage } from "../model.js";
import { effortOf, usageFrom } from "../model.js";
import { providerError } from "../provider-error.js";
import { type Exchange, speaking } from "../wire.js";

export interface ResponsesSettings extends Efforts {
  readonly model: string;
  /** Whether to ask for the model's reasoning, which a model without reasoning refuses. @defaultValue true */
  readonly reasoning?: boolean;
  /** Whether to ask for summaries of the reasoning, which not every account may get. @defaultValue true */
  readonly summary?: boolean;
}

export const createResponsesModel = speaking<ResponsesSettings>({
  framing: "events",
  counter: "sequence_number",
  request: (conversation, settings) => ({ body: bodyOf(conversation, settings), ...createReader() }),
  refusesSeal:
    /encrypted.content.*(verif|decrypt|pars)|required following item|required 'reasoning' item|not persisted/i,
  fallback(settings, said, request) {
    const { summary = true, reasoning = true } = settings;
    if (effortOf(request, settings) && REFUSES_EFFORT.test(said)) return { ...settings, efforts: false };
    if (summary && /reasoning.?summar|must be verified/i.test(said)) return { ...settings, summary: false };
    if (reasoning && /reasoning|encrypted content is not supported/i.test(said))
      return { ...settings, reasoning: false };
    return null;
  },
});

/** The body of a request. Exported so that a test can check it against the vendor's types. */
export type ResponsesBody = ReturnType<typeof bodyOf>;

// --- internal ---

const REFUSES_EFFORT = /reasoning.?effort|unsupported value: '(?:low|medium|high)'/i;

// --- the request ---

function bodyOf(request: ModelRequest, settings: ResponsesSettings) {
  const { system, tools, messages, session } = request;
  const { model, reasoning = true, summary = true } = settings;
  const effort = effortOf(request, settings);
  return {
    model,
    stream: true as const,
    store: false,
    ...(session !== undefined && { prompt_cache_key: session }),
    ...(system && { instructions: system }),
    ...(reasoning && {
      include: ["reasoning.encrypted_content" as const],
      reasoning: { ...(effort && { effort }), ...(summary && { summary: "auto" as const }) },
    }),
    ...(tools.length > 0 && { tools: tools.map(wireTool) }),
    input: messages.flatMap(itemsOf),
  };
}

function wireTool({ name, description, inputSchema }: ModelRequest["tools"][number]) {
  return { type: "function" as const, name, description, parameters: { ...inputSchema }, strict: false };
}

type InputContent = { type: "input_text"; text: string } | { type: "input_image"; image_url: string; detail: "auto" };
type OutputContent = { type: "output_text"; text: string; annotations: never[] } | { type: "refusal"; refusal: string };
type Phase = "commentary" | "final_answer";
type Item =
  | { role: "user"; content: string | InputContent[] }
  | { role: "assistant"; content: string; phase?: Phase }
  | {
      type: "message";
      role: "assistant";
      id: string;
      status: "completed" | "incomplete";
      content: OutputContent[];
      phase?: Phase;
    }
  | ReasoningItem
  | { type: "function_call"; id?: string; call_id: string; name: string; arguments: string }
  | { type: "function_call_output"; call_id: string; output: string | InputContent[] };
interface ReasoningItem {
  type: "reasoning";
  id: string;
  summary: { type: "summary_text"; text: string }[];
  content?: { type: "reasoning_text"; text: string }[];
  encrypted_content?: string;
}

function itemsOf(message: ModelMessage): Item[] {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: promptContent(message, contentOf) }];
    case "tool": {
      const output = message.output || "(no output)";
      const pictures = (message.images ?? []).map((image) => contentOf({ type: "image", ...image }));
      return [
        {
          type: "function_call_output",
          call_id: message.id,
          output: pictures.length > 0 ? [{ type: "input_text", text: output }, ...pictures] : output,
        },
      ];
    }
    case "assistant":
      return replyItems(message.parts);
  }
}

function contentOf(part: PromptPart): InputContent {
  if (part.type === "text") return { type: "input_text", text: part.text };
  return { type: "input_image", image_url: `data:${part.mimeType};base64,${part.data}`, detail: "auto" };
}

function replyItems(parts: Extract<ModelMessage, { role: "assistant" }>["parts"]): Item[] {
  const items = parts.flatMap((part): Item[] => {
    const data: JsonObject = isJsonObject(part.seal?.data) ? part.seal.data : {};
    if (part.type === "reasoning") return isReasoning(data["item"]) ? [data["item"]] : [];
    if (part.type === "text") return part.text === "" ? [] : [messageItem(part.text, data)];
    const { name, args, own } = writtenCall(part);
    const id = asText(own["id"]);
    return [{ type: "function_call", ...(id && { id }), call_id: part.id, name, arguments: args }];
  });
  // The vendor refuses reasoning without the item that followed it, which an interrupted reply may lack.
  return items.slice(0, items.findLastIndex((item) => !("type" in item) || item.type !== "reasoning") + 1);
}

function messageItem(text: string, { id, phase: kind, content: kept, status }: JsonObject): Item {
  const phase = kind === "commentary" || kind === "final_answer" ? { phase: kind as Phase } : {};
  if (typeof id !== "string") return { role: "assistant", content: text, ...phase };
  return {
    type: "message",
    role: "assistant",
    id,
    status: status === "incomplete" ? status : "completed",
    content: Array.isArray(kept) ? (kept as OutputContent[]) : [{ type: "output_text", text, annotations: [] }],
    ...phase,
  };
}

function isReasoning(item: unknown): item is ReasoningItem {
  return isJsonObject(item) && item["type"] === "reasoning" && typeof item["id"] === "string";
}

// --- the reply ---

interface WireEvent {
  type?: string;
  delta?: unknown;
  item_id?: unknown;
  arguments?: unknown;
  summary_index?: number;
  output_index?: number;
  item?: JsonObject;
  response?: {
    usage?: WireUsage | null;
    output?: unknown;
    incomplete_details?: { reason?: string } | null;
    error?: { code?: string; message?: string } | null;
  };
  code?: string | null;
  message?: string;
  error?: { code?: string | null; type?: string; message?: string };
}

interface WireUsage {
  input_tokens?: number;
  input_tokens_details?: { cached_tokens?: number } | null;
  output_tokens?: number;
  output_tokens_details?: { reasoning_tokens?: number } | null;
}

function createReader(): Pick<Exchange, "read"> {
  let refused = false;
  let called = false;
  let items = 0;
  /** Whether the current item arrived in pieces. A server may also send items whole. */
  let streamed = false;
  const pieces = createPieces();

  const close = (reply: Reply, { response }: WireEvent, stop: ModelStop | null): void => {
    // Some servers send only the whole output at the end.
    const output = items === 0 && Array.isArray(response?.output) ? response.output : [];
    for (const [index, item] of output.entries()) if (isJsonObject(item)) endItem(item, index, reply);
    if (response?.usage) reply.usage(usageOf(response.usage));
    reply.stop(refused ? "refusal" : (stop ?? (called ? "calls" : "end")));
    reply.close();
  };

  const endItem = (item: JsonObject, index: unknown, reply: Reply): void => {
    const { type, content, summary } = item;
    if (pieces.isRepeated(item, index)) return;
    items++;
    if (type === "function_call") {
      called = true;
      const [own, id, name] = [item["id"], item["call_id"], item["name"]].map(asText) as [string, string, string];
      reply.call({ id, name, args: pieces.argsOf(item), ...(own && { seal: { id: own } }) });
    } else if (type === "message") {
      if (!streamed) reply.text(textsOf(content, ["text", "refusal"]).join(""));
      refused ||= textsOf(content, ["refusal"]).length > 0;
      reply.end("text", messageSeal(item));
    } else if (type === "reasoning") {
      if (!streamed) reply.reasoning(textsOf(summary, ["text"]).join("\n\n"));
      reply.end("reasoning", reasoningSeal(item));
    }
    streamed = false;
  };

  const read = (event: WireEvent, reply: Reply): void => {
    // The most frequent types come first, because comparing a freshly parsed string is cheaper than a lookup.
    switch (event.type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        refused ||= event.type === "response.refusal.delta";
        streamed = true;
        reply.text(asText(event.delta));
        break;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        streamed = true;
        reply.reasoning(asText(event.delta));
        break;
      case "response.function_call_arguments.delta":
      case "response.function_call_arguments.done":
        pieces.add(event);
        break;
      case "response.reasoning_summary_part.added":
        if ((event.summary_index ?? 0) > 0) reply.reasoning("\n\n");
        break;
      case "response.output_item.added":
        streamed = false;
        break;
      case "response.output_item.done":
        if (isJsonObject(event.item)) endItem(event.item, event.output_index, reply);
        break;
      case "response.completed":
        close(reply, event, null);
        break;
      case "response.incomplete": {
        const reason = event.response?.incomplete_details?.reason;
        close(reply, event, reason === "content_filter" ? "refusal" : "max_tokens");
        break;
      }
      case "response.failed":
        throw reported(event.response?.error ?? {});
      case "error":
        throw reported(event.error ?? { code: event.code ?? "", message: event.message ?? "" });
    }
  };

  return { read };
}

/** Keeps what some servers leave out of an item, or send twice. */
function createPieces() {
  const args = new Map<unknown, string>();
  const ended = new Set<string>();
  return {
    add({ item_id: id, delta, arguments: whole }: WireEvent): void {
      args.set(id, asText(whole) || (args.get(id) ?? "") + asText(delta));
    },
    argsOf({ id, arguments: written }: JsonObject): string {
      if (isJsonObject(written)) return JSON.stringify(written);
      return asText(written) || (args.get(id) ?? "");
    },
    /** Whether the item has ended before. Some servers give all items of a reply one id, and then its type or index is another. */
    isRepeated({ type, id, call_id: call }: JsonObject, index: unknown): boolean {
      const key = JSON.stringify([type, id, call || index]);
      const isKnown = Boolean(id || call) && ended.has(key);
      ended.add(key);
      return isKnown;
    },
  };
}

function messageSeal({ id, phase, status, content }: JsonObject): Json | undefined {
  if (typeof id !== "string") return undefined;
  return {
    id,
    ...(typeof phase === "string" && { phase }),
    ...(status === "incomplete" && { status }),
    ...(!isOneText(content) && { content: content as Json }),
  };
}

/** Whether the content can be rebuilt from its text alone. */
function isOneText(content: unknown): boolean {
  if (!Array.isArray(content)) return true;
  const [one] = content as unknown[];
  if (content.length !== 1 || !isJsonObject(one) || one["type"] !== "output_text") return false;
  return !Array.isArray(one["annotations"]) || one["annotations"].length === 0;
}

/** The seal of a reasoning item; none for a bare id, which means nothing to a vendor that stores nothing. */
function reasoningSeal({ id, summary, content, encrypted_content }: JsonObject): Json | undefined {
  const texts = Array.isArray(content) && content.length > 0 ? { content } : {};
  const encrypted = typeof encrypted_content === "string" ? { encrypted_content } : {};
  if (Object.keys({ ...texts, ...encrypted }).length === 0) return undefined;
  const item = { type: "reasoning", id, summary: Array.isArray(summary) ? summary : [], ...texts, ...encrypted };
  return { item } as Json;
}

function textsOf(list: unknown, fields: readonly string[]): string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((one) => (isJsonObject(one) ? fields.map((field) => asText(one[field])) : [])).filter(Boolean);
}

function usageOf(usage: WireUsage): ModelUsage {
  return usageFrom({
    prompt: usage.input_tokens,
    output: usage.output_tokens,
    cacheRead: usage.input_tokens_details?.cached_tokens,
    reasoning: usage.output_tokens_details?.reasoning_tokens,
  });
}

function reported({ code, type, message }: { code?: string | null; type?: string; message?: string }): Error {
  return providerError(0, code || type || "server_error", message || "the provider reported an error");
}
