/** The codes of this package's errors and refusals. */
export type SandboxErrorCode =
  | "invalid_workspace"
  | "protected_symlink"
  | "sandbox_unavailable"
  | "unsupported_platform"
  | "outside_workspace";

const BRAND = Symbol.for("@chimera/sandbox/error");

/** A refusal with a code and a hint for the person. */
export class SandboxError extends Error {
  readonly [BRAND] = true;
  readonly code: SandboxErrorCode;
  readonly hint: string;

  constructor(code: SandboxErrorCode, message: string, hint: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "SandboxError";
    this.code = code;
    this.hint = hint;
  }
}

/**
 * True for a SandboxError of any installed copy of this package.
 *
 * @example
 * if (isSandboxError(error)) console.error(error.code, error.message);
 */
export function isSandboxError(error: unknown): error is SandboxError {
  return typeof error === "object" && error !== null && BRAND in error;
}
