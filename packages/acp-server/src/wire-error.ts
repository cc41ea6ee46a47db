/** Maps local errors to JSON-RPC errors, with one table for each kind of dialect. `ErrorCode` has the codes of the framing. */
import { isStoreError } from "@chimera/event-store";
import { ErrorCode, type MapError } from "@chimera/ndjson-rpc";
import { isSessionError, namedError, type SessionError, type SessionErrorCode } from "@chimera/session";

/** ACP's code for "resource not found". */
const NOT_FOUND = -32002;

/** In ACP the code -32000 means "log in first", so no other error may use it here. */
const STANDARD: Partial<Record<SessionErrorCode, number>> = {
  session_not_found: NOT_FOUND,
  invalid_setting: ErrorCode.invalidParams,
  forbidden_directory: ErrorCode.invalidParams,
  read_only: ErrorCode.invalidParams,
  permission_not_found: ErrorCode.invalidParams,
  question_not_found: ErrorCode.invalidParams,
  already_resolved: ErrorCode.invalidParams,
  not_as_shown: ErrorCode.invalidParams,
  nothing_to_fork: ErrorCode.invalidParams,
};

const NATIVE: Partial<Record<SessionErrorCode, number>> = {
  ...STANDARD,
  session_not_found: ErrorCode.invalidParams,
};

/** For standard ACP: an application failure becomes an internal error with data. */
export const standardError: MapError = (thrown) => {
  const error = named(thrown);
  const { name, message: reason } = asError(error);
  const code = numberOf(error, STANDARD) ?? ErrorCode.internalError;
  // Clients show only the message, so it must also say what the code says.
  const message = code === NOT_FOUND ? `Session not found: ${reason}` : reason;
  const known = isSessionError(error) ? { code: error.code, ...aboutOf(error) } : { name };
  // Some clients show `details` beside the message and nothing else.
  return { code, message, data: { ...known, message: reason, details: reason } };
};

/**
 * For the native dialects: an application failure becomes -32000 and carries the error.
 *
 * @param isLocal - Whether the peer is a program on this machine, over stdio. Only such a peer gets the stack, which names files.
 */
export function nativeError(isLocal: boolean): MapError {
  return (thrown) => {
    const error = named(thrown);
    const { name, message, stack } = asError(error);
    const data = { name, message, ...(isLocal && { stack }), ...(isSessionError(error) && aboutOf(error)) };
    return { code: numberOf(error, NATIVE) ?? -32000, message, data };
  };
}

// --- internal ---

/** Gives an error a session error code. A bad page cursor or session id keeps its store error, which is a mistake in the params. */
function named(error: unknown): unknown {
  return isStoreError(error) && error.code === "invalid_id" ? error : namedError(error);
}

function numberOf(error: unknown, table: Partial<Record<SessionErrorCode, number>>): number | undefined {
  return isSessionError(error) ? table[error.code] : isStoreError(error) ? ErrorCode.invalidParams : undefined;
}

/** Errors of calls that began nothing and may succeed a moment later. */
const LATER: ReadonlySet<SessionErrorCode> = new Set(["queue_full", "session_closed", "draining"]);

function aboutOf({ code, sessionId, holder }: SessionError): object {
  return {
    ...(sessionId !== undefined && { sessionId }),
    ...(holder && { holder }),
    ...(LATER.has(code) && { retryable: true }),
  };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
