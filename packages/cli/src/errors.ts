/** The expected errors of this package: a line for the person, and a code that decides the exit code. */
export type CliErrorCode = "failed" | "not_found" | "unreachable" | "unauthorized" | "conflict";

const BRAND = Symbol.for("@chimera/cli/error");

export class CliError extends Error {
  readonly [BRAND] = true;
  readonly code: CliErrorCode;

  constructor(code: CliErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "CliError";
    this.code = code;
  }
}

/** True for a CliError of any installed copy of this package. */
export function isCliError(error: unknown): error is CliError {
  return typeof error === "object" && error !== null && BRAND in error;
}

/** Exit code of a run that answered, although some of its calls were not permitted. */
export const EXIT_DENIED = 3;

/** Exit code that shells expect from a program that Ctrl-C ended. */
export const EXIT_INTERRUPTED = 130;
