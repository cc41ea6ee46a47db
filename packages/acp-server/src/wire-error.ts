/** Local errors -> JSON-RPC errors, one table per family. The other numbers are the framing's own. */
import { ErrorCode, type MapError } from "@chimera/ndjson-rpc";
import { isSessionError, type SessionErrorCode } from "@chimera/session";

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
  if (!isSessionError(error))
    return { code: ErrorCode.internalError, message: oneLine(message), data: { name, message } };
  const { code, sessionId } = error;
  const data = { code, message, ...(sessionId !== undefined && { sessionId }) };
  return { code: STANDARD[code] ?? ErrorCode.internalError, message: oneLine(message), data };
};

/** The native dialects: an application failure is -32000 and carries the error, stack too, because stdio is local. */
export const nativeError: MapError = (error) => {
  const { name, message, stack } = asError(error);
  const code = (isSessionError(error) && NATIVE[error.code]) || -32000;
  return { code, message: oneLine(message), data: { name, message, stack } };
};

// --- internal ---

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function oneLine(message: string): string {
  return message.split("\n", 1)[0] || "error";
}
