/** Errors -> status and body, in one table for each kind. Stacks stay in the log; the caller gets an id to ask about. */
import { isStoreError, type StoreErrorCode } from "@chimera/event-store";
import { isSessionError, type SessionErrorCode } from "@chimera/session";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { AppDeps, AppEnv } from "./deps.js";
import { LIMITS } from "./limits.js";

const BRAND = Symbol.for("@chimera/http-server/error");

/** A request that cannot be served, with the status and code it is answered with. */
export class HttpError extends Error {
  readonly [BRAND] = true;
  readonly status: ContentfulStatusCode;
  readonly code: string;
  /** Further fields of the body. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(
    status: ContentfulStatusCode,
    code: string,
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

export function isHttpError(error: unknown): error is HttpError {
  return typeof error === "object" && error !== null && BRAND in error;
}

const SESSION_STATUS: Readonly<Record<SessionErrorCode, ContentfulStatusCode>> = {
  session_not_found: 404,
  session_claimed: 409,
  session_closed: 503,
  turn_running: 409,
  queue_full: 429,
  permission_not_found: 404,
  already_resolved: 409,
  invalid_setting: 400,
  nothing_to_fork: 409,
  storage_full: 507,
  storage_failed: 500,
};

/** What the store throws past the core, by the caller's names for it; its own words may name files. */
const STORE_ERRORS: Readonly<Partial<Record<StoreErrorCode, readonly [ContentfulStatusCode, string, string]>>> = {
  not_found: [404, "session_not_found", "there is no such session"],
  invalid_id: [404, "session_not_found", "there is no such session"],
  claimed: [409, "session_claimed", "another process has this session"],
  unsupported_format: [409, "unsupported_format", "this session was written by a newer version"],
  too_large: [413, "too_large", "this is more than a record may hold"],
  storage_full: [507, "storage_full", "the disk is full"],
  closed: [503, "shutting_down", "the server is on its way down"],
};

export function errorResponse(error: unknown, c: Context<AppEnv>, log: AppDeps["log"]): Response {
  const request_id = newRequestId();
  const told = answerTo(error);
  if (!told) {
    logFailure(error, c, log, request_id);
    return c.json({ error: "internal_error", request_id }, 500);
  }
  const { status, code, message, fields } = told;
  if (status === 500 && isHttpError(error)) logFailure(error.cause ?? error, c, log, request_id);
  // What is on its way out of memory is back, or gone for good, in a moment.
  if (status === 503) c.header("Retry-After", String(LIMITS.retryAfterSeconds));
  return c.json({ error: code, message, ...fields, request_id }, status);
}

/** What only the log is told of a request that failed. */
export function logFailure(cause: unknown, c: Context<AppEnv>, log: AppDeps["log"], request_id = newRequestId()): void {
  const { message, stack } = cause instanceof Error ? cause : { message: String(cause), stack: undefined };
  log?.("request failed", { request_id, method: c.req.method, path: c.req.path, error: message, stack });
}

// --- internal ---

type Answer = Pick<HttpError, "status" | "code" | "message"> & Partial<Pick<HttpError, "fields">>;

function answerTo(error: unknown): Answer | null {
  if (isHttpError(error)) return error;
  if (isSessionError(error)) return { status: SESSION_STATUS[error.code], code: error.code, message: error.message };
  const known = isStoreError(error) ? STORE_ERRORS[error.code] : undefined;
  return known ? { status: known[0], code: known[1], message: known[2] } : null;
}

function newRequestId(): string {
  return crypto.randomUUID().slice(0, 8);
}
