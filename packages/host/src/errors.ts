/** The code of every error that this package throws, except usage errors. */
export type HostErrorCode = "already_running";

const BRAND = Symbol.for("@chimera/host/error");

export class HostError extends Error {
  readonly [BRAND] = true;
  readonly code: HostErrorCode;
  /** With `already_running`: the process that holds the port's pidfile; 0 when it could not be read. */
  readonly pid: number;

  constructor(code: HostErrorCode, message: string, options: { readonly pid: number; readonly cause?: unknown }) {
    super(message, options);
    this.name = "HostError";
    this.code = code;
    this.pid = options.pid;
  }
}

/** True for a HostError of any installed copy of this package. */
export function isHostError(error: unknown): error is HostError {
  return typeof error === "object" && error !== null && BRAND in error;
}
