/** Decides which failures are expected, and the exit code of each. */
import { envName, type Profile } from "@chimera/host";
import { isReportError, type ReportErrorCode } from "@chimera/run-reports";
import { isSessionError, type SessionErrorCode } from "@chimera/session";
import { type CliErrorCode, isCliError } from "./errors.js";

/** Codes of mistakes on the command line, such as a missing id or path. All other codes are failures of the work. */
const USAGE_CODES: ReadonlySet<CliErrorCode | SessionErrorCode | ReportErrorCode> = new Set([
  "session_not_found",
  "invalid_setting",
  "not_found",
  "invalid_query",
  "invalid_format",
  "invalid_sink",
  "invalid_url",
]);

/** Names of the errors of lower packages. */
const FAILURES: ReadonlySet<string> = new Set(["StoreError", "SnapshotError", "AgentError", "EngineError"]);

/** Advice to add to their messages, which name the file exactly but no remedy. */
const ADVICE: Readonly<Record<string, string>> = {
  storage_full: "; free some room there and try again",
  read_only: "; make that place writable and try again",
};

/** What the person can do, if the error itself does not say it. */
export function adviceOn(error: unknown, profile: Profile): string {
  if (isCliError(error) && error.code === "unauthorized")
    return `; set ${envName(profile, "SERVER_TOKEN")} to the server's`;
  const { name, code } = (error ?? {}) as { name?: string; code?: string };
  return FAILURES.has(name ?? "") ? (ADVICE[code ?? ""] ?? "") : "";
}

/** Null for an unexpected failure: a bug in this program. */
export function exitCodeOf(error: unknown): number | null {
  if (isCliError(error) || isSessionError(error) || isReportError(error)) return USAGE_CODES.has(error.code) ? 2 : 1;
  // An error of the operating system names the failed call.
  return error instanceof Error && (FAILURES.has(error.name) || "syscall" in error) ? 1 : null;
}
