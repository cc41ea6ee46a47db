/** Server-sent events out of a posted reply, as they arrive; errors of the HTTP layer become typed ones. */
import { startOf } from "@chimera/acp-schema/text";
import { createParser } from "eventsource-parser";
import { AgentError, type AgentErrorCode } from "../errors.js";
import type { Post, PostReply, PostRequest } from "./post.js";

/**
 * The longest single event, and the longest reply, that are still taken for one, in characters. Each token of a reply may come in
 * half a kilobyte of event, and models think for more than a hundred thousand.
 */
const LONGEST_EVENT = 16 * 1024 * 1024;
const LONGEST_REPLY = 128 * 1024 * 1024;
const LONGEST_ERROR_BODY = 64 * 1024;
const LONGEST_MESSAGE = 2_000;
const SHOWN_OF_BODY = 200;

/**
 * Posts, checks the status, and hands the parsed JSON of each `data:` field to `take` as it is found; yields after each chunk of
 * the network. Nothing is gathered here: what a vendor sends is many times what is kept of it.
 */
export async function* postForEvents(
  post: Post,
  request: PostRequest,
  take: (event: unknown) => void,
): AsyncGenerator<void> {
  const reply = await post(request);
  if (reply.status !== 200 || isJson(reply)) throw await statusError(reply);
  if (isEncoded(reply))
    throw new AgentError("bad_reply", "the provider compressed its reply, though nobody asked for it");

  let failure: { readonly error: unknown } | undefined;
  let done = false;
  let heard = false;
  const parser = createParser({
    maxBufferSize: LONGEST_EVENT,
    onEvent: ({ data }) => {
      heard = true;
      if (failure || done) return;
      if (data === "[DONE]") {
        done = true;
        return;
      }
      try {
        take(parseData(data));
      } catch (error) {
        failure = { error };
      }
    },
    onError: (cause) => {
      if (cause.type !== "max-buffer-size-exceeded") return;
      failure ??= { error: new AgentError("bad_reply", "the model sent an event without end", { cause }) };
    },
  });
  let opening = "";
  let length = 0;
  for await (const chunk of reply.chunks) {
    if (opening.length < SHOWN_OF_BODY) opening = (opening + chunk).slice(0, SHOWN_OF_BODY);
    parser.feed(length === 0 && chunk.startsWith("\uFEFF") ? chunk.slice(1) : chunk);
    length += chunk.length;
    if (length > LONGEST_REPLY) failure ??= { error: new AgentError("bad_reply", "the model's reply has no end") };
    yield;
    if (failure) throw failure.error;
    if (done) return;
  }
  // A portal's page, for one. What broke off before its first event may do better when asked again.
  if (!heard && !STREAM.test(opening)) throw notStreamed(opening);
}

/** The error a provider reported in the middle of a stream, or instead of one. */
export function providerError(status: number, type: string, message: string, retryAfterMs?: number): AgentError {
  const said = startOf(message, LONGEST_MESSAGE) || `the provider answered ${status || type}`;
  return new AgentError(codeOf(status, type, said), said, { retryAfterMs });
}

// --- internal ---

function parseData(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw new AgentError("bad_reply", `the model sent an event that is not JSON: ${startOf(data, 200)}`, { cause });
  }
}

const OVERFLOW =
  /context.{0,20}(length|window|size)|prompt is too long|too many (input )?tokens|maximum context|exceeds? the (available )?context/i;

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
  ["context_length_exceeded", "context_overflow"],
  ["request_too_large", "context_overflow"],
  ["invalid_request_error", "bad_request"],
]);

function codeOf(status: number, type: string, message: string): AgentErrorCode {
  const named = BY_TYPE.get(type);
  if ((named ?? "bad_request") === "bad_request" && (status === 413 || OVERFLOW.test(message)))
    return "context_overflow";
  if (named) return named;
  if (status === 401 || status === 403 || status === 402) return "unauthorized";
  if (status === 429) return "rate_limited";
  if (status === 408 || status === 409 || status >= 500) return "provider_failed";
  if (status === 404) return "model_unavailable";
  return status >= 300 ? "bad_request" : "provider_failed";
}

/** How a stream begins, or one that sent nothing: with a field, or with a comment as a sign of life. */
const STREAM = /^\uFEFF?\s*(?:$|:|(?:data|event|id|retry):)/;

function isEncoded(reply: PostReply): boolean {
  return !/^(identity)?$/i.test(String(reply.headers["content-encoding"] ?? ""));
}

function notStreamed(body: string): AgentError {
  return new AgentError("bad_reply", `the provider did not stream: ${startOf(body, SHOWN_OF_BODY)}`);
}

function isJson(reply: PostReply): boolean {
  return String(reply.headers["content-type"] ?? "").startsWith("application/json");
}

async function statusError(reply: PostReply): Promise<AgentError> {
  const body = await readBody(reply);
  const { type, message } = describeBody(body);
  if (reply.status === 200 && !type) return notStreamed(body);
  const { location } = reply.headers;
  const text = message || startOf(body, SHOWN_OF_BODY).trim() || (location ? `it points to ${location}` : "");
  return providerError(
    reply.status,
    type,
    `${reply.status === 200 ? "" : `${reply.status} `}${text}`.trim(),
    retryAfter(reply),
  );
}

async function readBody(reply: PostReply): Promise<string> {
  let body = "";
  for await (const chunk of reply.chunks) {
    body += chunk;
    if (body.length > LONGEST_ERROR_BODY) break;
  }
  return body;
}

/** Vendors agree on `{error: {type | code, message}}`; some send a bare string. */
function describeBody(body: string): { type: string; message: string } {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    if (typeof error === "string") return { type: "error", message: error };
    const { type, code, message } = error as { type?: unknown; code?: unknown; message?: unknown };
    const names = [code, type].filter((name) => typeof name === "string");
    return { type: names.find((name) => BY_TYPE.has(name)) ?? names[0] ?? "error", message: String(message ?? "") };
  } catch {
    return { type: "", message: "" };
  }
}

function retryAfter(reply: PostReply): number | undefined {
  const milliseconds = Number(reply.headers["retry-after-ms"]);
  if (milliseconds > 0) return milliseconds;
  const value = reply.headers["retry-after"];
  if (typeof value !== "string") return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
