/**
 * `@chimera/agent/ai-sdk`: adapts any language model of the AI SDK, so that every vendor with such a package (Bedrock, Vertex,
 * Mistral, Cohere …) can be used. The SDK is not a dependency: the adapter knows a model by its shape.
 */
import type { Json, Part } from "@chimera/acp-schema/events";
import { AgentError, type AgentErrorCode, isAgentError } from "./errors.js";
import { asText, isJsonObject, type JsonObject } from "./json.js";
import { withSight } from "./providers/begin-again.js";
import { calledBy, promptParts, withPictures, writtenCall } from "./providers/exchange.js";
import type {
  Model,
  ModelEvent,
  ModelMessage,
  ModelRequest,
  ModelStop,
  ModelTool,
  ModelUsage,
  Price,
} from "./providers/model.js";
import { providerError, retryAfter } from "./providers/provider-error.js";

/** The parts of a `LanguageModelV3` or `LanguageModelV4` that the adapter uses. */
export interface AiSdkModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  // biome-ignore lint/suspicious/noExplicitAny: each version of the SDK has its own type of options
  doStream(options: any): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

export interface AiSdkOptions {
  /** Tokens. @defaultValue 128,000 */
  readonly contextWindow?: number;
  /** US dollars per million tokens. @defaultValue unknown */
  readonly price?: Price | null;
  readonly maxOutputTokens?: number;
  /** How hard the model thinks. Packages of version 4 map it to their vendor's own setting. */
  readonly reasoning?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /** The vendor's options, keyed by the package's name: `{ openai: { store: false } }`. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/**
 * Makes a model for `createAgent` or `createCodingAgent`.
 *
 * @example
 * import { mistral } from "@ai-sdk/mistral";
 * const agent = createAgent({ resolveModel: () => fromAiSdk(mistral("mistral-large-latest")), tools });
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Model {
  if (!VERSIONS.has(model.specificationVersion)) {
    throw new AgentError(
      "model_unavailable",
      `${model.provider} follows version ${model.specificationVersion} of the AI SDK's provider specification; v3 and v4 are supported. Update the package.`,
    );
  }
  return withSight({
    provider: model.provider,
    id: model.modelId,
    contextWindow: options.contextWindow ?? 128_000,
    price: options.price ?? null,
    maxOutput: options.maxOutputTokens,
    async *stream(request) {
      const { contextWindow: _window, price: _price, ...settings } = options;
      const prompt = promptOf(request, model.specificationVersion);
      const tools = request.tools.map(({ name, description, inputSchema }) => ({
        type: "function",
        name,
        description,
        inputSchema,
      }));
      const most = request.maxOutput === undefined ? {} : { maxOutputTokens: request.maxOutput };
      const effort = request.effort && { reasoning: request.effort === "off" ? "none" : request.effort };
      const call = {
        ...settings,
        ...most,
        ...effort,
        prompt,
        ...(tools.length > 0 && { tools }),
        abortSignal: request.signal,
      };
      try {
        const { stream } = await model.doStream(call);
        yield* eventsOf(stream, request.tools);
      } catch (error) {
        request.signal.throwIfAborted();
        throw errorOf(error);
      }
    },
  });
}

// --- internal ---

const VERSIONS = new Set(["v3", "v4"]);

// The request, in the SDK's shape.

function promptOf({ system, messages }: ModelRequest, version: string): object[] {
  const called = calledBy(messages);
  // Pictures go outside of tool results, because some packages would send them there as text.
  const said = [...withPictures(messages)].map((message) => messageOf(message, version, called));
  return system === "" ? said : [{ role: "system", content: system }, ...said];
}

function messageOf(message: ModelMessage, version: string, called: ReturnType<typeof calledBy>): object {
  switch (message.role) {
    case "user": {
      const parts = promptParts(message);
      return { role: "user", content: parts.map((part) => (part.type === "text" ? part : pictureOf(part, version))) };
    }
    case "assistant":
      return { role: "assistant", content: message.parts.map(partOf) };
    case "tool": {
      const { id: toolCallId, success } = message;
      // Use the name that the model wrote: some vendors pair a result with its call by that name.
      const toolName = called.get(toolCallId)?.name ?? message.name;
      const output = { type: success ? "text" : "error-text", value: message.output || "(no output)" };
      return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] };
    }
  }
}

function pictureOf({ mimeType, data }: { readonly mimeType: string; readonly data: string }, version: string): object {
  return { type: "file", mediaType: mimeType, data: version === "v3" ? data : { type: "data", data } };
}

function partOf(part: Part): object {
  if (part.type !== "call") return { type: part.type, text: part.text, ...optionsOf(part.seal?.data) };
  const { name, input, own } = writtenCall(part);
  return { type: "tool-call", toolCallId: part.id, toolName: name, input, ...optionsOf(own) };
}

/** Returns the package's metadata of a part as options of the same part. */
function optionsOf(sealed: Json | JsonObject | undefined): object {
  return isJsonObject(sealed) && Object.keys(sealed).length > 0 ? { providerOptions: sealed } : {};
}

// The reply, in the SDK's shape.

/** Cancels the stream if the reader stops early. */
async function* eventsOf(stream: ReadableStream<unknown>, tools: readonly ModelTool[]): AsyncGenerator<ModelEvent[]> {
  const read = createPartReader(tools);
  for await (const part of stream) {
    const events = read(part);
    if (events.length > 0) yield events;
    if (events.at(-1)?.type === "stop") return;
  }
}

function createPartReader(tools: readonly ModelTool[]): (part: unknown) => ModelEvent[] {
  /** Metadata of each unfinished block, merged, because only its last piece may hold the signature. */
  const open = new Map<unknown, JsonObject>();
  const calls: { name: string; args: string }[] = [];
  const note = ({ id, providerMetadata }: JsonObject): JsonObject => {
    const known = open.get(id) ?? {};
    if (!isJsonObject(providerMetadata)) return known;
    const merged = Object.fromEntries(
      Object.entries(providerMetadata).map(([vendor, said]) => [
        vendor,
        isJsonObject(said) ? { ...asObject(known[vendor]), ...said } : said,
      ]),
    );
    return { ...known, ...merged };
  };
  const rows: Readonly<Record<string, (part: JsonObject) => ModelEvent[]>> = {
    error: ({ error }) => {
      throw errorOf(error);
    },
    "tool-call": (part) => {
      if (part["providerExecuted"] === true) return [];
      const [name, args] = [asText(part["toolName"]), asText(part["input"])];
      calls.push({ name, args });
      return [{ type: "call", id: asText(part["toolCallId"]), name, args, seal: sealOf(note(part)) }];
    },
    finish: (part) => [
      ...(isJsonObject(part["usage"]) ? [{ type: "usage" as const, usage: usageOf(part["usage"]) }] : []),
      ...stopOf(part["finishReason"], calls, tools),
    ],
  };
  const blocks = (part: JsonObject, kind: "text" | "reasoning", moment: string): ModelEvent[] => {
    open.set(part["id"], note(part));
    if (moment === "delta") {
      const text = asText(part["delta"]);
      return text === "" ? [] : [{ type: kind, text }];
    }
    if (moment !== "end") return [];
    const seal = sealOf(open.get(part["id"]) ?? {});
    open.delete(part["id"]);
    return [{ type: "part_end", kind, seal }];
  };
  return (part) => {
    if (!isJsonObject(part) || typeof part["type"] !== "string") return [];
    const block = /^(text|reasoning)-(start|delta|end)$/.exec(part["type"]);
    if (block) return blocks(part, block[1] as "text" | "reasoning", block[2] as string);
    return Object.hasOwn(rows, part["type"]) ? (rows[part["type"]]?.(part) ?? []) : [];
  };
}

function sealOf(said: JsonObject): Json | undefined {
  return Object.keys(said).length > 0 ? (said as Json) : undefined;
}

const STOPS: ReadonlyMap<unknown, ModelStop> = new Map<unknown, ModelStop>([
  ["stop", "end"],
  ["tool-calls", "calls"],
  ["length", "max_tokens"],
  ["content-filter", "refusal"],
]);

/** No stop event for a reply that broke off, so that its calls do not run. Packages report such a break in several ways. */
function stopOf(
  reason: unknown,
  calls: readonly { name: string; args: string }[],
  tools: readonly ModelTool[],
): ModelEvent[] {
  const { unified, raw } = isJsonObject(reason) ? reason : { unified: reason, raw: reason };
  if (raw === "pause_turn") return [{ type: "stop", reason: "pause" }];
  if (unified === "other" && raw !== undefined) return [{ type: "stop", reason: "end" }];
  const stop = STOPS.get(unified);
  if (stop === undefined) return [];
  // One package reports a cut call as an empty object, without the vendor's own stop reason.
  const isCut = raw === undefined && calls.some(({ name, args }) => EMPTY.test(args) && needsArguments(name, tools));
  return isCut ? [] : [{ type: "stop", reason: stop }];
}

const EMPTY = /^\s*(\{\s*\})?\s*$/;

function needsArguments(name: string, tools: readonly ModelTool[]): boolean {
  const required = tools.find((tool) => tool.name === name)?.inputSchema["required"];
  return Array.isArray(required) && required.length > 0;
}

function usageOf({ inputTokens, outputTokens }: JsonObject): ModelUsage {
  const [input, output] = [asObject(inputTokens), asObject(outputTokens)];
  const [cacheRead, cacheWrite] = [count(input["cacheRead"]), count(input["cacheWrite"])];
  const fresh = input["noCache"] ?? count(input["total"]) - cacheRead - cacheWrite;
  return {
    input: Math.max(0, count(fresh)),
    output: count(output["total"]),
    cacheRead,
    cacheWrite,
    reasoning: count(output["reasoning"]),
  };
}

/** Errors that a package throws before it connects. Trying again does not help. */
const FAULTS: ReadonlyMap<string | undefined, AgentErrorCode> = new Map([
  ["AI_LoadAPIKeyError", "model_unavailable"],
  ["AI_LoadSettingError", "model_unavailable"],
  ["AI_NoSuchModelError", "model_unavailable"],
  ["AI_UnsupportedFunctionalityError", "bad_request"],
  ["AI_InvalidPromptError", "bad_request"],
  ["AI_InvalidArgumentError", "bad_request"],
]);

/** Errors of the SDK carry a status and the raw body; an error for a lost connection carries only its cause. */
function errorOf(error: unknown): unknown {
  if (isAgentError(error) || (error as Error | null)?.name === "AbortError") return error;
  const { statusCode, responseBody, responseHeaders, message } = asObject(error);
  const said = [asText(message) || asText(error), asText(responseBody)].filter((text) => text !== "").join(": ");
  if (typeof statusCode === "number") return providerError(statusCode, "", said, retryAfter(asObject(responseHeaders)));
  const code = FAULTS.get((error as Error | null)?.name);
  if (code) return new AgentError(code, said, { cause: error });
  if (error instanceof Error)
    return new AgentError("connection_lost", `lost the connection to the model: ${said}`, { cause: error });
  return providerError(0, "server_error", said || JSON.stringify(error) || "the provider reported an error");
}

function asObject(value: unknown): JsonObject {
  return typeof value === "object" && value !== null ? (value as JsonObject) : {};
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
