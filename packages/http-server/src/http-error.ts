/** Errors -> status and body, in one table for each kind. Stacks go to the log only; the caller gets the id of the request. */
import type { ErrorCode, ErrorStatus } from "@chimera/acp-schema/http";
import { isSessionError, namedError, type SessionErrorCode } from "@chimera/session";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { AppDeps, AppEnv } from "./deps.js";
import { LIMITS } from "./limits.js";
import { newRequestId } from "./request/request-id.js";

const BRAND = Symbol.for("@chimera/http-server/error");

/** The reason why a request cannot be served, with the status and code of the answer. */
export class HttpError extends Error {
  readonly [BRAND] = true;
  readonly status: ContentfulStatusCode;
  readonly code: ErrorCode;
  /** Further fields of the body. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(
    status: ContentfulStatusCode,
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; fields?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, options);
    this.name = "HttpError";
    this.status = status;
    this.code = code;
    this.fields = options.fields ?? {};
  }
}

/**
 * True for an HttpError of any installed copy of this package.
 *
 * @example
 * if (isHttpError(error)) console.error(error.status, error.code);
 */
export function isHttpError(error: unknown): error is HttpError {
  return typeof error === "object" && error !== null && BRAND in error;
}

const SESSION_STATUS: { readonly [C in SessionErrorCode]: ErrorStatus<C> } = {
  session_not_found: 404,
  session_claimed: 409,
  session_elsewhere: 409,
  outcome_unknown: 502,
  session_closed: 503,
  session_damaged: 409,
  turn_running: 409,
  queue_full: 429,
  key_reused: 422,
  permission_not_found: 404,
  question_not_found: 404,
  already_resolved: 409,
  not_as_shown: 409,
  invalid_setting: 400,
  too_large: 413,
  forbidden_directory: 403,
  read_only: 403,
  draining: 503,
  limit_reached: 429,
  budget_spent: 402,
  nothing_to_fork: 409,
  unsupported_format: 409,
  workspace_moved: 409,
  storage_full: 507,
  storage_read_only: 507,
  storage_failed: 503,
};

export function errorResponse(error: unknown, c: Context<AppEnv>, log: AppDeps["log"]): Response {
  // A request that fails before the guard ran has no id yet.
  const request_id = c.get("requestId") ?? newRequestId();
  const known = answerTo(error);
  if (!known) {
    logFailure(error, c, log, request_id);
    return c.json({ error: "internal_error", request_id }, 500);
  }
  const { status, code, message, fields } = known;
  const isServerFault = isHttpError(error) ? status === 500 : status >= 503 && code !== "draining";
  if (isServerFault) logFailure((error as Error).cause ?? error, c, log, request_id);
  // A session that is being unloaded can be loaded again in a moment.
  if (status === 503) c.header("Retry-After", String(LIMITS.retryAfterSeconds));
  if (code === "limit_reached") c.header("Retry-After", String(LIMITS.limitRetrySeconds));
  return c.json({ error: code, message, ...fields, request_id }, status);
}

/** Logs why a request failed. The caller does not see this. */
export function logFailure(
  cause: unknown,
  c: Context<AppEnv>,
  log: AppDeps["log"],
  request_id: string = c.get("requestId"),
): void {
  const { message, stack } = cause instanceof Error ? cause : { message: String(cause), stack: undefined };
  log?.("request failed", { request_id, method: c.req.method, path: c.req.path, error: message, stack });
}

// --- internal ---

type Answer = Pick<HttpError, "status" | "code" | "message"> & Partial<Pick<HttpError, "fields">>;

function answerTo(error: unknown): Answer | null {
  if (isHttpError(error)) return error;
  const named = namedError(error);
  if (!isSessionError(named)) return null;
  const { code, message, holder } = named;
  return { status: SESSION_STATUS[code], code, message, ...(holder && { fields: { holder } }) };
}
