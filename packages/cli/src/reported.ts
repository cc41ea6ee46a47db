/** Wraps a command: an expected failure becomes one line on stderr and an exit code, a fault of ours goes up as it is. */
import type { Invocation, Run } from "@chimera/host";
import { isReportError, type ReportErrorCode } from "@chimera/run-reports";
import { isSessionError, type SessionErrorCode } from "@chimera/session";
import { EXIT_CODES, isCliError } from "./errors.js";
import { plain } from "./terminal/plain.js";

export function reported(where: string, run: Run): Run {
  return async (invocation) => {
    endQuietly(invocation);
    try {
      return await run(invocation);
    } catch (error) {
      const code = exitCode(error);
      if (code === null) throw error;
      complain(invocation, where, (error as Error).message);
      return code;
    }
  };
}

/** `otter sessions: there is no session x`, on stderr. */
export function complain({ profile, process }: Invocation, where: string, message: string): void {
  const name = where ? `${profile.name} ${where}` : profile.name;
  process.stderr.write(`${name}: ${plain(message)}\n`);
}

// --- internal ---

/** `… | head -1` closes the pipe early: that is no error of anybody. */
function endQuietly({ process }: Invocation): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
}

/** Mistakes in what was typed; the other codes are failures of the work. */
const USAGE_CODES: ReadonlySet<SessionErrorCode | ReportErrorCode> = new Set([
  "session_not_found",
  "invalid_setting",
  "not_found",
  "invalid_query",
  "invalid_format",
  "invalid_sink",
  "invalid_url",
]);

/** Null for what nobody expected. */
function exitCode(error: unknown): number | null {
  if (isCliError(error)) return EXIT_CODES[error.code];
  if (isSessionError(error) || isReportError(error)) return USAGE_CODES.has(error.code) ? 2 : 1;
  return isStorageFailure(error) ? 1 : null;
}

/** Branded errors of the stores, and what the system says about files. */
function isStorageFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ["StoreError", "SnapshotError", "AgentError"].includes(error.name) || "syscall" in error;
}
