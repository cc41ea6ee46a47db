/** A mistake in what was typed: one line, exit code 2. Whoever reports it puts what was called in front. */
const BRAND = Symbol.for("@chimera/host/usage-error");

export class UsageError extends Error {
  readonly [BRAND] = true;

  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

export function isUsageError(error: unknown): error is UsageError {
  return typeof error === "object" && error !== null && BRAND in error;
}
