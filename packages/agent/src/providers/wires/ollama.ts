/** Ollama's own format, https://docs.ollama.com/api/chat: its compatible endpoint silently cuts at 4,096 tokens. */
import { callsOf, textOf } from "@chimera/acp-schema/parts";
import { AgentError, isAgentError } from "../../errors.js";
import { asText, isJsonObject, type JsonObject } from "../../json.js";
import type { Reply } from "../exchange.js";
import { calledBy, ownName, promptParts, withPictures, writtenCall } from "../exchange.js";
import { type Efforts, effortOf, type ModelMessage, type ModelRequest, usageFrom } from "../model.js";
import type { Post } from "../post.js";
import { providerError, readJson } from "../provider-error.js";
import { type Endpoint, type Exchange, speaking } from "../wire.js";

export interface OllamaSettings extends Efforts {
  readonly model: string;
  /** How much the model is asked to hold, in tokens. */
  readonly contextWindow: number;
  /** How the model is asked to think: by a level, or just to; null for one that cannot. */
  readonly thinking: "level" | "switch" | null;
}

export const createOllamaModel = speaking<OllamaSettings>({
  framing: "lines",
  request: (conversation, settings) => ({ body: bodyOf(conversation, settings), ...createReader() }),
  // Few models know levels, and some that think cannot be asked to.
  fallback({ thinking, ...settings }, said) {
    if (!thinking || !/think/i.test(said)) return null;
    return { ...settings, thinking: thinking === "level" ? "switch" : null };
  },
});

/** What Ollama says of a model it has. */
export interface OllamaFacts {
  /** What the model was made for, in tokens, or what its file asks for. */
  readonly contextLength: number | null;
  readonly thinks: boolean;
  /** undefined where the server does not say. */
  readonly sees: boolean | undefined;
}

/** Asks about a model (https://docs.ollama.com/api-reference/show-model-details); a server that cannot say leaves it open. */
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

/** The body of a request; exported for the check against the vendor's own types. */
export type OllamaBody = ReturnType<typeof bodyOf>;

// --- internal ---

/** `num_ctx 32768` among the lines of a model's file. */
function askedLength(parameters: unknown): number | null {
  return Number(/^num_ctx\s+(\d+)/m.exec(asText(parameters))?.[1]) || null;
}

/** `llama.context_length` and the like: the key begins with the model's architecture. */
function madeFor(info: unknown): number | null {
  if (!isJsonObject(info)) return null;
  const length = info[`${asText(info["general.architecture"])}.context_length`];
  return typeof length === "number" && length > 0 ? length : null;
}

// --- what goes out ---

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

/** Thinking that came in the field it goes back in. */
const SEAL = { field: "thinking" };

// --- what comes back ---

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

function callOf(call: unknown): Parameters<Reply["call"]>[0] {
  const { id: given, function: called } = isJsonObject(call) ? call : {};
  const { name, arguments: args } = isJsonObject(called) ? called : {};
  const text = typeof args === "string" ? args : JSON.stringify(args ?? {});
  const id = asText(given);
  return { id, name: asText(name), args: text, ...(id && { seal: { id } }) };
}
