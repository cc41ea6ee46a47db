/**
 * Gemini's own format, https://ai.google.dev/api/generate-content: a reply is a list of parts, and a thought signature goes back on the
 * part that it came with (https://ai.google.dev/gemini-api/docs/thought-signatures).
 */
import type { Json } from "@chimera/acp-schema/events";
import { asText, isJsonObject, type JsonObject } from "../../json.js";
import type { Reply } from "../exchange.js";
import { calledBy, ownName, type PromptPart, promptParts, writtenCall } from "../exchange.js";
import type { Efforts, ModelMessage, ModelRequest, ModelStop, ModelUsage } from "../model.js";
import { budgetOf, effortOf, usageFrom } from "../model.js";
import { providerError } from "../provider-error.js";
import { type Exchange, speaking } from "../wire.js";

export interface GeminiSettings extends Efforts {
  readonly model: string;
  /** How the model is asked to think; `shown` only asks it to show its thoughts; null for a model that cannot think. */
  readonly thinking: "level" | "budget" | "shown" | null;
  /** Whether the first call of each reply must be signed, as Gemini 3 and later require. */
  readonly signed: boolean;
  /** Whether the server has refused the placeholder for a signature. @defaultValue false */
  readonly unsignable?: boolean;
}

export const createGeminiModel = speaking<GeminiSettings>({
  framing: "events",
  request: (conversation, settings) => ({ body: bodyOf(conversation, settings), ...createReader() }),
  refusesSeal: /(invalid|corrupted) thought.?signature/i,
  fallback(settings, said) {
    const { thinking, signed, unsignable = false } = settings;
    if (!signed && !unsignable && /missing a thought.?signature/i.test(said)) return { ...settings, signed: true };
    if (signed && /(invalid|corrupted) thought.?signature/i.test(said))
      return { ...settings, signed: false, unsignable: true };
    if (!thinking || !/thinking|thought/i.test(said)) return null;
    return { ...settings, thinking: thinking === "shown" ? null : "shown" };
  },
});

/** The body of a request. Exported so that a test can check it against the vendor's types. */
export type GeminiBody = ReturnType<typeof bodyOf>;

// --- internal ---

// --- the request ---

type WirePart = {
  text?: string;
  thought?: true;
  thoughtSignature?: string;
  inlineData?: { mimeType: string; data: string };
  functionCall?: { id?: string; name: string; args: JsonObject };
  functionResponse?: { id?: string; name: string; response: JsonObject };
};
interface Content {
  role: "user" | "model";
  parts: WirePart[];
}

function bodyOf(request: ModelRequest, settings: GeminiSettings) {
  const { system, tools, messages } = request;
  const thinks = settings.thinking && (request.effort ?? settings.effort) !== "off";
  return {
    ...(system && { systemInstruction: { parts: [{ text: system }] } }),
    ...(tools.length > 0 && { tools: [{ functionDeclarations: tools.map(wireTool) }] }),
    ...(thinks && { generationConfig: { thinkingConfig: thinkingOf(request, settings) } }),
    contents: contentsOf(messages, settings.signed),
  };
}

const LEVELS = { low: "LOW", medium: "MEDIUM", high: "HIGH" } as const;

function thinkingOf(request: ModelRequest, settings: GeminiSettings) {
  const { thinking } = settings;
  const effort = effortOf(request, settings);
  return {
    includeThoughts: true,
    ...(effort && thinking === "level" && { thinkingLevel: LEVELS[effort] }),
    ...(effort && thinking === "budget" && { thinkingBudget: budgetOf(effort) }),
  };
}

function wireTool({ name, description, inputSchema }: ModelRequest["tools"][number]) {
  return { name, description, parametersJsonSchema: inputSchema };
}

/** All results of a reply go into one content right after it, followed by their pictures. */
function contentsOf(messages: readonly ModelMessage[], signed: boolean): Content[] {
  const contents: Content[] = [];
  const called = calledBy(messages);
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at] as ModelMessage;
    if (message.role === "tool") {
      const end = messages.findIndex(({ role }, index) => index > at && role !== "tool");
      const results = messages.slice(at, end < 0 ? undefined : end) as Said<"tool">[];
      contents.push({
        role: "user",
        parts: [...results.map((one) => resultOf(one, called)), ...results.flatMap(picturesOf)],
      });
      at += results.length - 1;
      continue;
    }
    const parts = message.role === "user" ? promptParts(message).map(partOf) : replyParts(message.parts, signed);
    if (parts.length > 0) contents.push({ role: message.role === "assistant" ? "model" : "user", parts });
  }
  return contents;
}

type Said<R> = Extract<ModelMessage, { role: R }>;

function resultOf({ id, name, output, success }: Said<"tool">, called: ReturnType<typeof calledBy>): WirePart {
  const text = output || "(no output)";
  const call = called.get(id) ?? { name };
  return { functionResponse: { ...call, response: success ? { output: text } : { error: text } } };
}

function picturesOf({ name, images = [] }: Said<"tool">): WirePart[] {
  if (images.length === 0) return [];
  return [{ text: `Pictures from ${name}:` }, ...images.map((image) => partOf({ type: "image", ...image }))];
}

function partOf(part: PromptPart): WirePart {
  return part.type === "text" ? { text: part.text } : { inlineData: { mimeType: part.mimeType, data: part.data } };
}

/** Stands in for a missing signature of a call that came from another model or from before a summary. */
const UNSIGNED = "skip_thought_signature_validator";

function replyParts(parts: Said<"assistant">["parts"], signed: boolean): WirePart[] {
  let firstCall = true;
  return parts.flatMap((part): WirePart[] => {
    if (part.type === "call") {
      const written = writtenCall(part);
      const signature = asText(written.own["thoughtSignature"]) || (signed && firstCall ? UNSIGNED : "");
      firstCall = false;
      const functionCall = { ...ownName(written), args: written.input };
      return [{ functionCall, ...(signature && { thoughtSignature: signature }) }];
    }
    const data: JsonObject = isJsonObject(part.seal?.data) ? part.seal.data : {};
    const thoughtSignature = asText(data["thoughtSignature"]);
    if (part.type === "reasoning")
      return thoughtSignature ? [{ text: part.text, thought: true, thoughtSignature }] : [];
    if (part.text === "" && !thoughtSignature) return [];
    return [{ text: part.text, ...(thoughtSignature && { thoughtSignature }) }];
  });
}

// --- the reply ---

interface WireChunk {
  candidates?: readonly {
    content?: { parts?: readonly ReceivedPart[] | null } | null;
    finishReason?: string;
    finishMessage?: string;
  }[];
  promptFeedback?: { blockReason?: string } | null;
  usageMetadata?: WireUsage;
  error?: { code?: number; message?: string; status?: string };
}

interface ReceivedPart {
  text?: unknown;
  thought?: unknown;
  thoughtSignature?: unknown;
  functionCall?: { id?: unknown; name?: unknown; args?: unknown };
}

interface WireUsage {
  promptTokenCount?: number;
  cachedContentTokenCount?: number;
  candidatesTokenCount?: number;
  thoughtsTokenCount?: number;
}

const REFUSALS = ["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"];

const STOPS: ReadonlyMap<string, ModelStop> = new Map([
  ["STOP", "end"],
  ["MAX_TOKENS", "max_tokens"],
  ...REFUSALS.map((reason) => [reason, "refusal"] as const),
]);

function createReader(): Pick<Exchange, "read"> {
  return {
    read(chunk, reply) {
      const { candidates, promptFeedback, usageMetadata, error } = chunk as WireChunk;
      if (error) throw providerError(error.code ?? 0, asText(error.status), error.message ?? "");
      if (usageMetadata) reply.usage(usageOf(usageMetadata));
      if (promptFeedback?.blockReason) reply.stop("refusal");
      const candidate = candidates?.[0];
      if (!candidate) return;
      const parts = candidate.content?.parts;
      if (Array.isArray(parts)) for (const part of parts) readPart(part, reply);
      if (candidate.finishReason) reply.stop(stopOf(candidate.finishReason, candidate.finishMessage));
    },
  };
}

/** Joins pieces of text, but keeps a signed piece as a part of its own. */
function readPart(part: ReceivedPart, reply: Reply): void {
  const signature = asText(part.thoughtSignature);
  const { functionCall } = part;
  if (isJsonObject(functionCall)) {
    const id = asText(functionCall.id);
    const seal: Json = { ...(id && { id }), ...(signature && { thoughtSignature: signature }) };
    const args = JSON.stringify(functionCall.args ?? {});
    reply.call({ id, name: asText(functionCall.name), args, ...(Object.keys(seal).length > 0 && { seal }) });
    return;
  }
  if (typeof part.text !== "string") return;
  const kind = part.thought === true ? "reasoning" : "text";
  if (signature) reply.end(kind);
  reply[kind](part.text);
  if (signature) reply.end(kind, { thoughtSignature: signature });
}

function stopOf(reason: string, message: string | undefined): ModelStop {
  const stop = STOPS.get(reason);
  // For example a malformed call. Asked again, the model usually succeeds.
  if (!stop) throw providerError(0, "server_error", `the model stopped with ${reason}${message ? `: ${message}` : ""}`);
  return stop;
}

function usageOf(usage: WireUsage): ModelUsage {
  const reasoning = usage.thoughtsTokenCount ?? 0;
  const output = (usage.candidatesTokenCount ?? 0) + reasoning;
  return usageFrom({ prompt: usage.promptTokenCount, output, cacheRead: usage.cachedContentTokenCount, reasoning });
}
