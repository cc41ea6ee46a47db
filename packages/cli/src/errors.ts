/** Everything this package throws on purpose: one line for the person, and the exit code that goes with it. */
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

/** The answer is there, and calls on the way to it were not permitted. */
export const EXIT_DENIED = 3;

/** What a shell expects of a program that Ctrl-C ended. */
export const EXIT_INTERRUPTED = 130;
