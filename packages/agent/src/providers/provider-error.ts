/** What a provider reports as an error, as a typed one: with its status, in its body, or in the middle of a stream. */
import { startOf } from "@chimera/acp-schema/text";
import { AgentError, type AgentErrorCode } from "../errors.js";
import { isJsonObject, type JsonObject } from "../json.js";
import { isContextOverflow } from "./overflow.js";
import type { PostReply } from "./post.js";
import { retryAfter, waitIn } from "./retry-after.js";

const LONGEST_ERROR_BODY = 64 * 1024;
const LONGEST_MESSAGE = 2_000;
const SHOWN_OF_BODY = 200;

/** The error a provider reported in the middle of a stream, or instead of one. */
export function providerError(status: number, type: string, message: string, retryAfterMs?: number): AgentError {
  const said = startOf(message, LONGEST_MESSAGE) || `the provider answered ${status || type}`;
  return new AgentError(codeOf(status, type, said), said, { retryAfterMs: retryAfterMs ?? waitIn(said) });
}

/** The error that a reply is, by its status or because it is not streamed. */
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

/** A portal's page, for one. */
export function notStreamed(body: string): AgentError {
  return new AgentError("bad_reply", `the provider did not stream: ${startOf(body, SHOWN_OF_BODY)}`);
}

/** The body of a reply that is one JSON object; null for any other. */
export async function readJson(reply: PostReply): Promise<JsonObject | null> {
  try {
    const value: unknown = JSON.parse(await readBody(reply, LONGEST_JSON));
    return isJsonObject(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

// --- internal ---

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
  // Retrying does not fill an account.
  ["insufficient_quota", "unauthorized"],
  ["billing_error", "unauthorized"],
  ["invalid_request_error", "bad_request"],
]);

function codeOf(status: number, type: string, message: string): AgentErrorCode {
  const named = BY_TYPE.get(type);
  if (named !== "unauthorized" && isContextOverflow({ status, type, message })) return "context_overflow";
  // What is refused for now is not refused for what it says, whatever the name.
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

/** Vendors agree on `{error: {type | code, message}}`; some send a bare string, and Google at times a list of one. */
function describeBody(body: string): { type: string; message: string } {
  try {
    const told: unknown = JSON.parse(body);
    const { error } = (Array.isArray(told) ? told[0] : told) as { error?: unknown };
    if (typeof error === "string") return { type: "error", message: error };
    const { type, code, message } = error as { type?: unknown; code?: unknown; message?: unknown };
    const names = [code, type].filter((name) => typeof name === "string");
    return { type: names.find((name) => BY_TYPE.has(name)) ?? names[0] ?? "error", message: String(message ?? "") };
  } catch {
    return { type: "", message: "" };
  }
}
