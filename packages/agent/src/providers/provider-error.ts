/** Makes typed errors from a provider's reports: a status, a body, or an event in the middle of a stream. */
import { startOf } from "@chimera/acp-schema/text";
import { AgentError, type AgentErrorCode } from "../errors.js";
import { isJsonObject, type JsonObject, parseJson } from "../json.js";
import type { PostReply } from "./post.js";

const LONGEST_ERROR_BODY = 64 * 1024;
const LONGEST_MESSAGE = 2_000;
const SHOWN_OF_BODY = 200;

/** The error that a provider reported in the middle of a stream or instead of one. */
export function providerError(status: number, type: string, message: string, retryAfterMs?: number): AgentError {
  const said = startOf(message, LONGEST_MESSAGE) || `the provider answered ${status || type}`;
  return new AgentError(codeOf(status, type, said), said, { retryAfterMs: retryAfterMs ?? waitIn(said) });
}

/** The error for a reply with another status than 200, or without a stream. */
export async function statusError(reply: PostReply): Promise<AgentError> {
  const body = await readBody(reply, LONGEST_ERROR_BODY);
  const { type, message } = describeBody(body);
  if (reply.status === 200 && !type) return notStreamed(body);
  const { location } = reply.headers;
  const text = message || startOf(body, SHOWN_OF_BODY).trim() || (location ? `it points to ${location}` : "");
  return providerError(
    reply.status,
    type,
    `${reply.status === 200 ? "" : `${reply.status} `}${text}`.trim(),
    retryAfter(reply.headers),
  );
}

/** The error for a reply that is not a stream, such as the page of a login portal. */
export function notStreamed(body: string): AgentError {
  return new AgentError("bad_reply", `the provider did not stream: ${startOf(body, SHOWN_OF_BODY)}`);
}

/** The body of a reply that is one JSON object; null for any other. */
export async function readJson(reply: PostReply): Promise<JsonObject | null> {
  const value = parseJson(await readBody(reply, LONGEST_JSON));
  return isJsonObject(value) ? value : null;
}

/** Reads `retry-after-ms`, or `retry-after` in seconds or as a date; undefined without either header. */
export function retryAfter(headers: Readonly<Record<string, unknown>>): number | undefined {
  const milliseconds = Number(headers["retry-after-ms"]);
  if (milliseconds > 0) return milliseconds;
  const value = headers["retry-after"];
  if (typeof value !== "string") return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

// --- internal ---

/** Finds the delay in an error's text: "try again in 3.2s" (OpenAI), "in 7m12.48s" (Groq), "retry after 30 seconds" (Azure, Gemini). */
function waitIn(text: string): number | undefined {
  const said = /(?:try(?: again)?|retry(?:ing)?)(?: again)? (?:in|after)\s+((?:[\d.]+\s*[a-z]+[\s,]*)+)/i.exec(
    text,
  )?.[1];
  if (!said) return undefined;
  let total = 0;
  for (const [, amount, unit = ""] of said.matchAll(/([\d.]+)\s*([a-z]+)/gi)) {
    const factor = UNITS.find(([names]) => names.test(unit))?.[1];
    if (factor === undefined || !Number.isFinite(Number(amount))) break;
    total += Number(amount) * factor;
  }
  return total > 0 ? Math.ceil(total) : undefined;
}

/**
 * Whether a provider's refusal means that the conversation does not fit the model's context window. A few vendors have a code for it
 * (`type`, the error's own name). Most have only a message, each a different one. The rows come from public documents and reports.
 */
function isContextOverflow(status: number, type: string, message: string): boolean {
  if (TYPES.has(type) || status === 413) return true;
  if (TOO_LARGE_AT_ONCE.test(message)) return true;
  if (status === 429 || WAITING.test(message)) return false;
  if (MESSAGES.some((pattern) => pattern.test(message))) return true;
  return MAY_BE_REFUSED.has(status) && !OTHER_LIMITS.test(message) && TOO_LONG.test(message);
}

const LONGEST_JSON = 4 * 1024 * 1024;

const BY_TYPE: ReadonlyMap<string, AgentErrorCode> = new Map([
  ["overloaded_error", "provider_failed"],
  ["api_error", "provider_failed"],
  ["server_error", "provider_failed"],
  ["timeout_error", "provider_failed"],
  ["rate_limit_error", "rate_limited"],
  ["rate_limit_exceeded", "rate_limited"],
  ["authentication_error", "unauthorized"],
  ["permission_error", "unauthorized"],
  ["invalid_api_key", "unauthorized"],
  // Retrying does not add credit to an account.
  ["insufficient_quota", "unauthorized"],
  ["billing_error", "unauthorized"],
  ["invalid_request_error", "bad_request"],
]);

function codeOf(status: number, type: string, message: string): AgentErrorCode {
  const named = BY_TYPE.get(type);
  if (named !== "unauthorized" && isContextOverflow(status, type, message)) return "context_overflow";
  // A temporary status means that the content of the request was not the reason, whatever the error's name.
  const passing = status === 429 || status >= 500;
  if (named && !(named === "bad_request" && passing)) return named;
  if (status === 401 || status === 403 || status === 402) return "unauthorized";
  if (status === 429) return "rate_limited";
  if (status === 408 || status === 409 || status >= 500) return "provider_failed";
  if (status === 404) return "model_unavailable";
  return status >= 300 ? "bad_request" : "provider_failed";
}

async function readBody(reply: PostReply, most: number): Promise<string> {
  let body = "";
  for await (const chunk of reply.chunks) {
    body += chunk;
    if (body.length > most) break;
  }
  return body;
}

/** Vendors agree on `{error: {type | code, message}}`. Some send a bare string, and Google sometimes sends a list with one entry. */
function describeBody(body: string): { type: string; message: string } {
  try {
    const answer: unknown = JSON.parse(body);
    const { error } = (Array.isArray(answer) ? answer[0] : answer) as { error?: unknown };
    if (typeof error === "string") return { type: "error", message: error };
    const { type, code, message } = error as { type?: unknown; code?: unknown; message?: unknown };
    const names = [code, type].filter((name) => typeof name === "string");
    return { type: names.find((name) => BY_TYPE.has(name)) ?? names[0] ?? "error", message: String(message ?? "") };
  } catch {
    return { type: "", message: "" };
  }
}

const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|milliseconds?|millis)$/i, 1],
  [/^(?:s|secs?|seconds?)$/i, 1_000],
  [/^(?:m|mins?|minutes?)$/i, 60_000],
  [/^(?:h|hrs?|hours?)$/i, 3_600_000],
  [/^(?:d|days?)$/i, 86_400_000],
];

/** Error names that always mean an overflow. */
const TYPES: ReadonlySet<string> = new Set([
  // OpenAI, and servers that follow it: https://platform.openai.com/docs/guides/error-codes
  "context_length_exceeded",
  "string_above_max_length",
  // Anthropic, a request of more than 32 MB: https://platform.claude.com/docs/en/api/errors
  "request_too_large",
  // GitHub Copilot: microsoft/vscode#289219
  "model_max_prompt_tokens_exceeded",
  // z.ai: zeroclaw-labs/zeroclaw#4124
  "1261",
  "model_context_window_exceeded",
  // llama.cpp's server: ggml-org/llama.cpp tools/server
  "exceed_context_size_error",
]);

const MESSAGES: readonly RegExp[] = [
  // Anthropic, also through Bedrock and Vertex: onlook-dev/onlook#1354, strands-agents/harness-sdk#1912. Fireworks and Ollama alike.
  /prompt (?:is )?too long/i,
  // Anthropic, when there is no room left for the reply: docker/docker-agent#569, continuedev/continue#6080
  /input length and `?max_tokens`? exceed context limit/i,
  // OpenAI: "Your input exceeds the context window of this model": openai/codex
  /exceeds? (?:the )?(?:model'?s )?(?:available |maximum )?context(?: window| size| length| limit)?/i,
  // OpenAI, OpenRouter, DeepSeek, vLLM, NVIDIA NIM, Bedrock's newer models: Chanzhaoyu/chatgpt-web#372, evalstate/fast-agent#621,
  // Alishahryar1/free-claude-code#391, strands-agents/harness-sdk#3969
  /maximum context length/i,
  /model's maximum length|max(?:imum)?_?(?:model_len|seq_?len|position_embeddings)/i,
  // Gemini and Vertex: google-gemini/gemini-cli#6678, dyad-sh/dyad#403, warpdotdev/warp#15662
  /input token count.{0,40}exceeds the maximum/i,
  /input context is too long/i,
  // xAI: cline/cline#3120
  /maximum prompt length is \d+/i,
  // Groq, Cerebras: cline/cline#5140
  /reduce the length of the (?:messages|input|prompt)/i,
  // Amazon Bedrock: aws-samples/bedrock-chat#95, strands-agents/harness-sdk#3969
  /input is too long for requested model/i,
  /too many total text bytes/i,
  // GitHub Copilot: opencode-ai/opencode#305, charmbracelet/crush#2678
  /prompt token count of \d+ exceeds the limit/i,
  // Kimi: badlogic/pi-mono packages/ai/src/utils/overflow.ts
  /exceeded model token limit/i,
  // MiniMax: the same
  /context window exceeds limit/i,
  // Mistral: the same
  /too large for model with \d+ maximum context/i,
  // Together: the same
  /longer than the model'?s context length/i,
  // z.ai: farion1231/cc-switch#6982
  /prompt exceeds max(?:imum)? length/i,
  // Alibaba's DashScope: QwenLM/qwen-code#98, #2068
  /range of input length should be/i,
  // ByteDance's Volcano Engine: langgenius/dify#32221
  /input length \d+ exceeds the maximum length/i,
  // Poolside: badlogic/pi-mono
  /exceeds the maximum allowed input length/i,
  // llama.cpp, LM Studio: lmstudio-ai/lmstudio-bug-tracker#237, #546, #2339, Gitlawb/openclaude#353
  /when context the overflows/i,
  /greater than the context length/i,
  /context size has been exceeded/i,
  /exceeds (?:the )?(?:available )?context size/i,
  // Hugging Face's text-generation-inference: huggingface/text-generation-inference#628, #695
  /`?inputs`? tokens \+ `?max_new_tokens`? must be <=/i,
  /`?inputs`? must have less than \d+ tokens/i,
  // Cohere: cohere-ai/sandbox-topically#4
  /too many tokens: (?:total number|size limit)/i,
  // OpenRouter, where credits bound a prompt: continuedev/continue#11540
  /prompt tokens limit exceeded/i,
  // Salesforce: forcedotcom/Einstein-GPT-for-Developers#228
  /input tokens exceed model token limit/i,
  // IBM watsonx: https://www.ibm.com/docs/en/watsonx/saas (error codes)
  /number of input tokens \d+ cannot exceed/i,
  /context[_ ]length[_ ]exceeded|context[_ ]window[_ ]exceeded|token limit exceeded/i,
];

/** One request with more tokens than the limit per minute, so waiting does not help. vanna-ai/vanna-flask#11, continuedev/continue#10218 */
const TOO_LARGE_AT_ONCE = /request too large for/i;

/** A temporary limit, such as "Too many tokens, please wait before trying again" from Bedrock. */
const WAITING = /rate limit|too many requests|throttl|please wait|per (?:minute|hour|day)|quota/i;

/** Statuses of a request that was refused for its content; 0 and 200 are errors in a stream. */
const MAY_BE_REFUSED: ReadonlySet<number> = new Set([0, 200, 400, 413, 422]);

/** Messages about other things that can be too long or too many. */
const OTHER_LIMITS =
  /output tokens|completion tokens|max_(?:completion_|output_|new_)?tokens.{0,60}(?:too large|maximum allowed|at most|greater|must be)|image|picture|pixel|tools?\b.{0,20}(?:array|maximum|too many|at most)|file size|audio|header/i;

/** For unknown servers: a message that mentions the input and says that it is too much. */
const TOO_LONG =
  /(?:prompt|input|context|conversation|messages?|tokens?|request).{0,80}(?:too (?:long|large|big|many)|exceed|longer than|larger than|greater than|over the (?:limit|maximum)|beyond)|(?:too (?:long|large|big|many)|exceed\w*|maximum|limit).{0,60}(?:prompt|input tokens?|context|tokens)/i;
