/** OpenAI and Azure: the Responses API (https://platform.openai.com/docs/api-reference/responses). */
import { invalid } from "./chat-completions.js";
import type { Loose, ModelReply, Said, Vendor } from "./vendor.js";
import { argsText, createIds, piecesOf, sse, unknownKey } from "./vendor.js";

export interface ResponsesOptions {
  readonly name?: string;
  readonly model?: string;
  env?(url: string): Record<string, string>;
  readonly path?: string;
  /** The header of the key. @defaultValue authorization */
  readonly keyHeader?: string;
  /** Answers at other paths, such as the chat endpoint that refuses tools. */
  readonly elsewhere?: Vendor;
  /** What the model accepts requests for, in addition to an answer. @defaultValue both */
  readonly offers?: readonly ("reasoning" | "summary")[];
  /** The efforts that the model accepts. @defaultValue all */
  readonly efforts?: readonly string[];
}

export function createResponses(options: ResponsesOptions = {}): Vendor {
  const { model = "gpt-5.6-sol", path: served = "/v1/responses", keyHeader = "authorization", elsewhere } = options;
  const offers = options.offers ?? ["reasoning", "summary"];
  const ids = createIds();
  /** Item id -> the items of its reply, and its index among them. */
  const known = new Map<string, { items: Loose[]; index: number }>();
  const sent: Loose[] = [];
  return {
    name: options.name ?? "OpenAI (responses)",
    model: options.env ? model : (elsewhere?.model ?? model),
    sent,
    repliesIn: ({ input }) =>
      input.filter(({ role, type }: Loose) => role !== "user" && type !== "function_call_output"),
    env: options.env ?? ((url) => ({ OPENAI_API_KEY: "sk-o", OPENAI_BASE_URL: `${url}/v1` })),
    answer(request, next) {
      const { method, path, headers, body } = request;
      if (path !== served && elsewhere) return elsewhere.answer(request, next);
      if (method !== "POST" || path !== served) invalid(`Invalid URL (${method} ${path})`, {}, 404);
      if (!headers[keyHeader]) invalid("You didn't provide an API key.", {}, 401);
      checkFields(body, model.replace(/^azure\//, ""), offers);
      const { effort } = body.reasoning ?? {};
      // anomalyco/models.dev#331
      if (effort && options.efforts && !options.efforts.includes(effort))
        invalid(
          `Unsupported value: '${effort}' is not supported with the '${body.model}' model. Supported values are: '${options.efforts.join("', '")}'.`,
          { param: "reasoning.effort", code: "unsupported_value" },
        );
      checkInput(body.input, known);
      const reply = next();
      const items = reply.says.flatMap((said) => itemOf(said, ids));
      for (const [index, item] of items.entries()) known.set(item.id, { items, index });
      sent.push(...sendable(items).map(asSent));
      return { stream: streamOf(reply, items, body) };
    },
  };
}

/** Azure serves the same at another address (https://learn.microsoft.com/azure/ai-foundry/openai/how-to/responses). */
export function createAzure(options: Pick<ResponsesOptions, "efforts"> = {}): Vendor {
  return createResponses({
    ...options,
    name: "Azure (responses)",
    model: "azure/my-deployment",
    path: "/openai/v1/responses",
    keyHeader: "api-key",
    env: (url) => ({ AZURE_OPENAI_API_KEY: "az", AZURE_OPENAI_ENDPOINT: url }),
  });
}

// --- internal ---

const FIELDS = [
  "model",
  "stream",
  "store",
  "include",
  "reasoning",
  "instructions",
  "prompt_cache_key",
  "tools",
  "input",
];

function checkFields(body: Loose, model: string, offers: readonly string[]): void {
  const extra = unknownKey(body, FIELDS);
  if (extra) invalid(`Unknown parameter: '${extra}'.`, { code: "unknown_parameter" });
  if (body.model !== model) invalid(`The requested model '${body.model}' does not exist.`, { code: "model_not_found" });
  for (const tool of body.tools ?? []) {
    if (tool.type !== "function" || typeof tool.name !== "string")
      invalid("Missing required parameter: 'tools[0].name'.");
  }
  // https://community.openai.com/t/1355398: what a model without reasoning answers
  if (!offers.includes("reasoning") && body.include?.length)
    invalid("Encrypted content is not supported with this model.");
  if (!offers.includes("reasoning") && body.reasoning)
    invalid("Unsupported parameter: 'reasoning.effort' is not supported with this model.");
  // https://help.openai.com/articles/10910291: summaries are for verified organisations
  if (!offers.includes("summary") && body.reasoning?.summary)
    invalid("Your organization must be verified to generate reasoning summaries.", { param: "reasoning.summary" });
}

/**
 * https://platform.openai.com/docs/guides/reasoning#keeping-reasoning-items-in-context and
 * https://platform.openai.com/docs/guides/function-calling; words: openai/openai-agents-js#546, vercel/ai#13239
 */
function checkInput(input: Loose[], sent: Map<string, { items: Loose[]; index: number }>): void {
  if (!Array.isArray(input) || input.length === 0) invalid("Missing required parameter: 'input'.");
  const called = new Set<string>();
  input.forEach((item, at) => {
    const where = `input[${at}]`;
    if (item.type === "reasoning") checkReasoning(item, input[at + 1], sent);
    if (item.type === "function_call") {
      called.add(item.call_id);
      if (typeof item.arguments !== "string") invalid(`Invalid type for '${where}.arguments': expected a string.`);
      if (!input.some(({ type, call_id }) => type === "function_call_output" && call_id === item.call_id))
        invalid(`No tool output found for function call ${item.call_id}.`);
    }
    if (item.type === "function_call_output" && !called.has(item.call_id))
      invalid(`No tool call found for function call output with call_id ${item.call_id}.`);
    if (item.role === "assistant" && Array.isArray(item.content) && item.content.some(isInput))
      invalid(`Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.`);
    checkNeighbour(item, input[at - 1], sent);
  });
}

function isInput({ type }: Loose): boolean {
  return type === "input_text" || type === "input_image";
}

function checkReasoning(item: Loose, following: Loose, sent: Map<string, { items: Loose[]; index: number }>): void {
  if (!item.encrypted_content)
    invalid(`Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false.`, {}, 404);
  const known = sent.get(item.id);
  const original = known?.items[known.index];
  if (!original || JSON.stringify(original) !== JSON.stringify({ ...item, status: original.status }))
    invalid(`The encrypted content for item ${item.id} could not be verified.`, { code: "invalid_encrypted_content" });
  const next = known?.items[(known?.index ?? 0) + 1];
  if (next && !isSame(next, following))
    invalid(`Item '${item.id}' of type 'reasoning' was provided without its required following item.`);
}

/** An item after a reasoning item must come back together with it. */
function checkNeighbour(item: Loose, before: Loose, sent: Map<string, { items: Loose[]; index: number }>): void {
  const known = item.id !== undefined && item.type !== "reasoning" ? sent.get(item.id) : undefined;
  if (!known) return;
  const needed = known.items[known.index - 1];
  if (needed?.type === "reasoning" && before?.id !== needed.id)
    invalid(
      `Item '${item.id}' of type '${item.type}' was provided without its required 'reasoning' item: '${needed.id}'.`,
    );
}

function isSame(original: Loose, item: Loose): boolean {
  if (!item || original.type !== (item.type ?? "message")) return false;
  if (original.type === "function_call")
    return ["call_id", "name", "arguments"].every((key) => original[key] === item[key]);
  if (original.type === "reasoning") return original.id === item.id;
  // The text and its phase: https://platform.openai.com/docs/guides/latest-model#phase
  return textOf(original) === textOf(item) && original.phase === item.phase;
}

function textOf({ content }: Loose): string {
  if (typeof content === "string") return content;
  return content.map(({ text, refusal }: Loose) => text ?? refusal).join("\u0000");
}

/** The vendor refuses reasoning that no item follows. */
function sendable(items: Loose[]): Loose[] {
  return items.slice(0, items.findLastIndex(({ type }) => type !== "reasoning") + 1);
}

/** The fields of an item that must come back: not logprobs, and not the status of a call. */
function asSent(item: Loose): Loose {
  if (item.type === "message")
    return { ...item, content: item.content.map(({ logprobs: _logprobs, ...part }: Loose) => part) };
  const { status: _status, ...rest } = item;
  return rest;
}

function itemOf(said: Said, ids: (prefix: string) => string): Loose[] {
  if ("hidden" in said) return [{ type: "reasoning", id: ids("rs_"), summary: [], encrypted_content: ids("enc_") }];
  if ("reasoning" in said) {
    const summary = said.reasoning ? [{ type: "summary_text", text: said.reasoning }] : [];
    return [{ type: "reasoning", id: ids("rs_"), summary, encrypted_content: ids("enc_") }];
  }
  if ("text" in said) {
    const content = [{ type: "output_text", text: said.text, annotations: [], logprobs: [] }];
    return [{ type: "message", id: ids("msg_"), status: "completed", role: "assistant", content, phase: "commentary" }];
  }
  return [
    {
      type: "function_call",
      id: ids("fc_"),
      call_id: ids("call_"),
      name: said.call,
      arguments: argsText(said.args),
      status: "completed",
    },
  ];
}

/** https://platform.openai.com/docs/guides/streaming-responses */
function streamOf({ stop = "end" }: ModelReply, items: Loose[], { include, reasoning }: Loose): string[] {
  let sequence_number = 0;
  const event = (type: string, more: Loose) => sse({ type, sequence_number: sequence_number++, ...more }, type);
  const response = { id: "resp_1", object: "response", status: "in_progress", output: [] as Loose[] };
  const shown = items.map((item) => (item.type === "reasoning" && !include?.length ? withoutContent(item) : item));
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 60 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 5 },
  };
  const last =
    stop === "end"
      ? event("response.completed", { response: { ...response, status: "completed", output: shown, usage } })
      : event("response.incomplete", {
          response: {
            ...response,
            status: "incomplete",
            incomplete_details: { reason: stop === "refusal" ? "content_filter" : "max_output_tokens" },
            usage,
          },
        });
  return [
    event("response.created", { response }),
    event("response.in_progress", { response }),
    ...shown.map((item, output_index) => itemEvents(item, output_index, event, Boolean(reasoning?.summary))),
    last,
  ];
}

function withoutContent({ encrypted_content: _content, ...item }: Loose): Loose {
  return item;
}

type Event = (type: string, more: Loose) => string;

function itemEvents(item: Loose, output_index: number, event: Event, summaries: boolean): string {
  const at = { item_id: item.id, output_index };
  const added = event("response.output_item.added", { output_index, item: { ...item, content: [], summary: [] } });
  const done = event("response.output_item.done", { output_index, item });
  const between: string[] = [];
  if (item.type === "function_call")
    for (const delta of piecesOf(item.arguments))
      between.push(event("response.function_call_arguments.delta", { ...at, delta }));
  if (item.type === "message") {
    between.push(event("response.content_part.added", { ...at, content_index: 0, part: { type: "output_text" } }));
    for (const delta of piecesOf(item.content[0].text))
      between.push(event("response.output_text.delta", { ...at, content_index: 0, delta }));
    between.push(event("response.output_text.done", { ...at, content_index: 0, text: item.content[0].text }));
  }
  if (item.type === "reasoning" && summaries)
    item.summary.forEach((part: Loose, summary_index: number) => {
      between.push(event("response.reasoning_summary_part.added", { ...at, summary_index, part }));
      for (const delta of piecesOf(part.text))
        between.push(event("response.reasoning_summary_text.delta", { ...at, summary_index, delta }));
    });
  return [added, ...between, done].join("");
}
