/** Local errors -> JSON-RPC errors, one table per family. The other numbers are the framing's own. */
import { isStoreError } from "@chimera/event-store";
import { ErrorCode, type MapError } from "@chimera/ndjson-rpc";
import { isSessionError, namedError, type SessionError, type SessionErrorCode } from "@chimera/session";

/** What ACP calls "resource not found". */
const NOT_FOUND = -32002;

/** ACP binds -32000 to "log in first", so it is never used for anything else here. */
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

/** Standard ACP: an application failure is an internal error with data. */
export const standardError: MapError = (thrown) => {
  const error = named(thrown);
  const { name, message: reason } = asError(error);
  const code = numberOf(error, STANDARD) ?? ErrorCode.internalError;
  // Clients show the message alone: it says what the number says.
  const message = code === NOT_FOUND ? `Session not found: ${reason}` : reason;
  const known = isSessionError(error) ? { code: error.code, ...aboutOf(error) } : { name };
  // Clients that show one thing beside the message show `details`.
  return { code, message, data: { ...known, message: reason, details: reason } };
};

/** The native dialects: an application failure is -32000 and carries the error, stack too, because stdio is local. */
export const nativeError: MapError = (thrown) => {
  const error = named(thrown);
  const { name, message, stack } = asError(error);
  const data = { name, message, stack, ...(isSessionError(error) && aboutOf(error)) };
  return { code: numberOf(error, NATIVE) ?? -32000, message, data };
};

// --- internal ---

/** A page cursor, or an id that no session can have, stays what it is: a mistake in the parameters. */
function named(error: unknown): unknown {
  return isStoreError(error) && error.code === "invalid_id" ? error : namedError(error);
}

function numberOf(error: unknown, table: Partial<Record<SessionErrorCode, number>>): number | undefined {
  return isSessionError(error) ? table[error.code] : isStoreError(error) ? ErrorCode.invalidParams : undefined;
}

/** Nothing was begun, and the same call may succeed a moment later. */
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
