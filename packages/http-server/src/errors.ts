/** A request that cannot be served, with the status and code it is answered with. */
import type { ContentfulStatusCode } from "hono/utils/http-status";

const BRAND = Symbol.for("@chimera/http-server/error");

export class HttpError extends Error {
  readonly [BRAND] = true;
  readonly status: ContentfulStatusCode;
  readonly code: string;
  /** Further fields of the body. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(
    status: ContentfulStatusCode,
    code: string,
    message: string,
    options: { cause?: unknown; fields?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, options);
    this.name = "HttpError";
    this.status = status;
    this.code = code;
    this.fields = options.fields ?? {};
  }
}

export function isHttpError(error: unknown): error is HttpError {
  return typeof error === "object" && error !== null && BRAND in error;
}
