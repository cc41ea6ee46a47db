/** Local errors -> JSON-RPC errors, one table per family. The other numbers are the framing's own. */
import { isStoreError } from "@chimera/event-store";
import { ErrorCode, type MapError } from "@chimera/ndjson-rpc";
import { isSessionError, type SessionError, type SessionErrorCode } from "@chimera/session";

/** ACP binds -32000 to "log in first", so it is never used for anything else here. */
const STANDARD: Partial<Record<SessionErrorCode, number>> = {
  session_not_found: -32002,
  invalid_setting: ErrorCode.invalidParams,
  permission_not_found: ErrorCode.invalidParams,
  already_resolved: ErrorCode.invalidParams,
  nothing_to_fork: ErrorCode.invalidParams,
};

const NATIVE: Partial<Record<SessionErrorCode, number>> = {
  ...STANDARD,
  session_not_found: ErrorCode.invalidParams,
};

/** Standard ACP: an application failure is an internal error with data. */
export const standardError: MapError = (error) => {
  const { name, message } = asError(error);
  const data = isSessionError(error) ? { code: error.code, message, ...sessionOf(error) } : { name, message };
  return { code: numberOf(error, STANDARD) ?? ErrorCode.internalError, message, data };
};

/** The native dialects: an application failure is -32000 and carries the error, stack too, because stdio is local. */
export const nativeError: MapError = (error) => {
  const { name, message, stack } = asError(error);
  const data = { name, message, stack, ...(isSessionError(error) && sessionOf(error)) };
  return { code: numberOf(error, NATIVE) ?? -32000, message, data };
};

// --- internal ---

function numberOf(error: unknown, table: Partial<Record<SessionErrorCode, number>>): number | undefined {
  if (isSessionError(error)) return table[error.code];
  // A page cursor, or an id that no session can have.
  return isStoreError(error) && error.code === "invalid_id" ? ErrorCode.invalidParams : undefined;
}

function sessionOf({ sessionId }: SessionError): { sessionId?: string } {
  return sessionId === undefined ? {} : { sessionId };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
