/** Local errors -> status and body, in one table. Stacks stay in the log; the caller gets an id to ask about. */
import { isSessionError, type SessionErrorCode } from "@chimera/session";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { isHttpError } from "./errors.js";

const SESSION_STATUS: Readonly<Record<SessionErrorCode, ContentfulStatusCode>> = {
  session_not_found: 404,
  session_claimed: 409,
  session_closed: 409,
  turn_running: 409,
  queue_full: 429,
  permission_not_found: 404,
  already_resolved: 409,
  invalid_setting: 400,
  nothing_to_fork: 409,
  storage_full: 507,
  storage_failed: 500,
};

export function errorResponse(
  error: unknown,
  c: Context,
  log?: (message: string, fields?: Record<string, unknown>) => void,
): Response {
  const request_id = crypto.randomUUID().slice(0, 8);
  if (isHttpError(error)) return c.json({ error: error.code, message: error.message, request_id }, error.status);
  if (isSessionError(error)) {
    return c.json({ error: error.code, message: error.message, request_id }, SESSION_STATUS[error.code]);
  }
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
  log?.("request failed", { request_id, method: c.req.method, path: c.req.path, error: message, stack });
  return c.json({ error: "internal_error", request_id }, 500);
}
