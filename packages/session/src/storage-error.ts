/** What a store throws, in the session's own words. */
import { isStoreError, type StoreErrorCode } from "@chimera/event-store";
import { SessionError, type SessionErrorCode } from "./errors.js";

const CODES: Partial<Record<StoreErrorCode, SessionErrorCode>> = {
  storage_full: "storage_full",
  claimed: "session_claimed",
  fenced: "session_claimed",
  closed: "session_closed",
  not_found: "session_not_found",
  invalid_id: "session_not_found",
  invalid_event: "invalid_setting",
  too_large: "invalid_setting",
};

/** Errors that are not the store's pass through. */
export function namedError(error: unknown, sessionId: string): unknown {
  if (!isStoreError(error)) return error;
  const code = CODES[error.code] ?? "storage_failed";
  const message = code === "session_not_found" ? `there is no session ${sessionId}` : error.message;
  return new SessionError(code, message, { cause: error, sessionId });
}
