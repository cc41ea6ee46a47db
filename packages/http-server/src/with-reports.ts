/** Loads `@chimera/run-reports` at the first report, and translates its errors into HTTP errors. */
import type { ErrorCode } from "@chimera/acp-schema/http";
import type { ReportErrorCode } from "@chimera/run-reports";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { HttpError, isHttpError } from "./http-error.js";

type Reports = typeof import("@chimera/run-reports");

const ANSWERS: Readonly<Record<ReportErrorCode, readonly [ContentfulStatusCode, ErrorCode]>> = {
  invalid_query: [400, "invalid_query"],
  invalid_format: [400, "invalid_format"],
  invalid_sink: [400, "invalid_sink"],
  invalid_url: [400, "invalid_url"],
  blocked_url: [400, "blocked_url"],
  upstream_failed: [502, "upstream_failed"],
  not_found: [404, "session_not_found"],
  too_large: [413, "too_large"],
  storage_full: [507, "storage_full"],
  write_failed: [500, "write_failed"],
};

/** @param failure the code for any error that is not a report error */
export async function withReports<T>(use: (reports: Reports) => Promise<T> | T, failure?: ErrorCode): Promise<T> {
  const reports = await import("@chimera/run-reports");
  try {
    return await use(reports);
  } catch (cause) {
    if (reports.isReportError(cause)) {
      const [status, code] = ANSWERS[cause.code];
      throw new HttpError(status, code, cause.message, { cause, fields: { detail: cause.message } });
    }
    if (failure === undefined || isHttpError(cause)) throw cause;
    const detail = "the log directory could not be read";
    throw new HttpError(500, failure, detail, { cause, fields: { detail } });
  }
}
