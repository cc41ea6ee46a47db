/** A request that cannot be served, with the status and code it is answered with. */
import type { ContentfulStatusCode } from "hono/utils/http-status";

const BRAND = Symbol.for("@chimera/http-server/error");

export class HttpError extends Error {
  readonly [BRAND] = true;
  readonly status: ContentfulStatusCode;
  readonly code: string;

  constructor(status: ContentfulStatusCode, code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "HttpError";
    this.status = status;
    this.code = code;
  }
}

export function isHttpError(error: unknown): error is HttpError {
  return typeof error === "object" && error !== null && BRAND in error;
}
