/** Ollama's own format, https://docs.ollama.com/api/chat. Its compatible endpoint would silently cut at 4,096 tokens. */
import { callsOf, textOf } from "@chimera/acp-schema/parts";
import { AgentError, isAgentError } from "../../errors.js";
import { asText, isJsonObject, type JsonObject } from "../../json.js";
import { calledBy, ownName, promptParts, withPictures, writtenCall } from "../exchange.js";
import { type Efforts, effortOf, type ModelMessage, type ModelRequest, type RawCall, usageFrom } from "../model.js";
import type { Post } from "../post.js";
import { providerError, readJson } from "../provider-error.js";
import { type Endpoint, type Exchange, speaking } from "../wire.js";

export interface OllamaSettings extends Efforts {
  readonly model: string;
  /** The context length that requests ask for, in tokens. */
  readonly contextWindow: number;
  /** How the model is asked to think: with a level, or just switched on; null for one that cannot think. */
  readonly thinking: "level" | "switch" | null;
}

export const createOllamaModel = speaking<OllamaSettings>({
  framing: "lines",
  request: (conversation, settings) => ({ body: bodyOf(conversation, settings), ...createReader() }),
  // Few models accept levels, and some thinking models accept no request to think.
  fallback({ thinking, ...settings }, said) {
    if (!thinking || !/think/i.test(said)) return null;
    return { ...settings, thinking: thinking === "level" ? "switch" : null };
  },
});

/** What Ollama reports about an installed model. */
export interface OllamaFacts {
  /** In tokens: the context length in the model's file, or else the one that the model was trained for. */
  readonly contextLength: number | null;
  readonly thinks: boolean;
  /** Undefined when the server does not say. */
  readonly sees: boolean | undefined;
}

/** Asks for a model's details (https://docs.ollama.com/api-reference/show-model-details). They stay unknown if the server cannot answer. */
export async function showModel(
  { url, headers, model }: Pick<Endpoint, "url" | "headers" | "model">,
  post: Post,
  signal: AbortSignal,
): Promise<OllamaFacts> {
  const body = JSON.stringify({ model });
  const asked = { url, headers: { "content-type": "application/json", ...headers }, body, signal };
  const answer = await post(asked)
    .then(async (reply) => (await readJson(reply)) ?? {})
    .catch((error: unknown): JsonObject => {
      if (isAgentError(error)) throw error;
      return {};
    });
  const error = asText(answer["error"]);
  if (/not found/i.test(error))
    throw new AgentError("model_unavailable", `Ollama says: ${error}. \`ollama pull ${model}\` fetches it`);
  const { capabilities } = answer;
  const can = (what: string) => Array.isArray(capabilities) && capabilities.includes(what);
  return {
    contextLength: askedLength(answer["parameters"]) ?? madeFor(answer["model_info"]),
    thinks: can("thinking"),
    sees: Array.isArray(capabilities) ? can("vision") : undefined,
  };
}

/** The body of a request. Exported so that a test can check it against the vendor's types. */
export type OllamaBody = ReturnType<typeof bodyOf>;

// --- internal ---

/** Reads a line such as `num_ctx 32768` in a model's file. */
function askedLength(parameters: unknown): number | null {
  return Number(/^num_ctx\s+(\d+)/m.exec(asText(parameters))?.[1]) || null;
}

/** Reads `llama.context_length` or the like: the key begins with the model's architecture. */
function madeFor(info: unknown): number | null {
  if (!isJsonObject(info)) return null;
  const length = info[`${asText(info["general.architecture"])}.context_length`];
  return typeof length === "number" && length > 0 ? length : null;
}

// --- the request ---

function bodyOf(request: ModelRequest, settings: OllamaSettings) {
  const { system, tools, messages } = request;
  const { model, contextWindow, thinking } = settings;
  const effort = thinking && effortOf(request, settings);
  const called = calledBy(messages);
  return {
    model,
    stream: true as const,
    ...(effort && { think: thinking === "level" ? effort : true }),
    options: { num_ctx: contextWindow },
    ...(tools.length > 0 && { tools: tools.map(wireTool) }),
    messages: [
      ...(system ? [{ role: "system", content: system }] : []),
      ...[...withPictures(messages)].map((message) => wireMessage(message, called)),
    ],
  };
}

function wireTool({ name, description, inputSchema }: ModelRequest["tools"][number]) {
  return { type: "function", function: { name, description, parameters: inputSchema } };
}

interface WireMessage {
  role: string;
  content: string;
  images?: string[];
  thinking?: string;
  tool_calls?: { id?: string; function: { name: string; arguments: JsonObject } }[];
  tool_name?: string;
  tool_call_id?: string;
}

function wireMessage(message: ModelMessage, called: ReturnType<typeof calledBy>): WireMessage {
  switch (message.role) {
    case "user": {
      const parts = promptParts(message);
      const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
      const images = parts.flatMap((part) => (part.type === "image" ? [part.data] : []));
      return { role: "user", content: texts.join("\n"), ...(images.length > 0 && { images }) };
    }
    case "assistant":
      return replyOf(message);
    case "tool": {
      const { name, id } = called.get(message.id) ?? { name: message.name };
      const content = message.output || "(no output)";
      return { role: "tool", content, tool_name: name, ...(id !== undefined && { tool_call_id: id }) };
    }
  }
}

function replyOf(message: Extract<ModelMessage, { role: "assistant" }>): WireMessage {
  const calls = callsOf(message);
  const thought = message.parts.filter(
    (part) => part.type === "reasoning" && isJsonObject(part.seal?.data) && part.seal.data["field"] === SEAL.field,
  );
  const thinking = thought.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
  return {
    role: "assistant",
    content: textOf(message),
    ...(thinking && { thinking }),
    ...(calls.length > 0 && {
      tool_calls: calls.map((part) => {
        const written = writtenCall(part);
        const { name, ...id } = ownName(written);
        return { ...id, function: { name, arguments: written.input } };
      }),
    }),
  };
}

/** Marks thinking that arrived in the `thinking` field and must go back in it. */
const SEAL = { field: "thinking" };

// --- the reply ---

interface WireLine {
  message?: { content?: unknown; thinking?: unknown; tool_calls?: unknown };
  done?: boolean;
  done_reason?: string;
  prompt_eval_count?: number;
  eval_count?: number;
  error?: unknown;
}

function createReader(): Pick<Exchange, "read"> {
  let thinking = false;
  return {
    read(line, reply) {
      const { message, done, done_reason, prompt_eval_count, eval_count, error } = line as WireLine;
      if (error) throw providerError(0, "server_error", asText(error) || JSON.stringify(error));
      const thought = asText(message?.thinking);
      if (thinking && !thought) reply.end("reasoning", SEAL);
      thinking = thought !== "";
      reply.reasoning(thought);
      reply.text(asText(message?.content));
      if (Array.isArray(message?.tool_calls)) for (const call of message.tool_calls) reply.call(callOf(call));
      if (done !== true) return;
      if (thinking) reply.end("reasoning", SEAL);
      reply.usage(usageFrom({ prompt: prompt_eval_count, output: eval_count }));
      reply.stop(done_reason === "length" ? "max_tokens" : "end");
      reply.close();
    },
  };
}

function callOf(call: unknown): RawCall {
  const { id: given, function: called } = isJsonObject(call) ? call : {};
  const { name, arguments: args } = isJsonObject(called) ? called : {};
  const text = typeof args === "string" ? args : JSON.stringify(args ?? {});
  const id = asText(given);
  return { id, name: asText(name), args: text, ...(id && { seal: { id } }) };
}
