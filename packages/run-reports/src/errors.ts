/** The errors of this package: one class with a closed set of codes. Two installed copies recognise each other's errors. */

export type ReportErrorCode =
  /** `since` or `limit` is invalid. */
  | "invalid_query"
  /** Not one of the transcript formats. */
  | "invalid_format"
  /** Not one of the share sinks. */
  | "invalid_sink"
  /** The share address is missing, malformed, or not http(s). */
  | "invalid_url"
  /** The share address is not public. */
  | "blocked_url"
  /** The collector could not be reached in time, or did not answer with success. */
  | "upstream_failed"
  /** No such session. */
  | "not_found"
  /** The transcript does not fit into one reply. */
  | "too_large"
  /** There is no room for the share file. */
  | "storage_full"
  /** The share file could not be written for another reason. */
  | "write_failed";

const BRAND = Symbol.for("@chimera/run-reports/error");

export class ReportError extends Error {
  readonly [BRAND] = true;
  readonly code: ReportErrorCode;

  constructor(code: ReportErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "ReportError";
    this.code = code;
  }
}

/**
 * True for a ReportError of any installed copy of this package.
 *
 * @example
 * if (isReportError(error)) console.error(error.code);
 */
export function isReportError(error: unknown): error is ReportError {
  return typeof error === "object" && error !== null && BRAND in error;
}
