/** Everything this package throws. Transports map the code to their own numbers. */
import { isStoreError, type StoreErrorCode } from "@chimera/event-store";

export type SessionErrorCode =
  | "session_not_found"
  | "session_claimed"
  | "session_closed"
  | "turn_running"
  | "queue_full"
  | "permission_not_found"
  | "already_resolved"
  | "invalid_setting"
  | "nothing_to_fork"
  | "storage_full"
  | "storage_failed";

const BRAND = Symbol.for("@chimera/session/error");

export class SessionError extends Error {
  readonly [BRAND] = true;
  readonly code: SessionErrorCode;
  /** The session it is about, where the caller may not know. */
  readonly sessionId?: string;

  constructor(code: SessionErrorCode, message: string, options?: { cause?: unknown; sessionId?: string }) {
    super(message, options);
    this.name = "SessionError";
    this.code = code;
    if (options?.sessionId !== undefined) this.sessionId = options.sessionId;
  }
}

/** True for a SessionError of any installed copy of this package. */
export function isSessionError(error: unknown): error is SessionError {
  return typeof error === "object" && error !== null && BRAND in error;
}

/** What a store throws, as the session's own error; other errors pass through. */
export function namedError(error: unknown, sessionId: string): unknown {
  if (!isStoreError(error)) return error;
  const code = CODES[error.code] ?? "storage_failed";
  const message = code === "session_not_found" ? `there is no session ${sessionId}` : error.message;
  return new SessionError(code, message, { cause: error, sessionId });
}

// --- internal ---

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
