/** The error of this package. */
import type { ErrorCode } from "@chimera/acp-schema/http";

/** The server's codes, and those for failures on the way: no connection, no answer in time, missing records. */
export type ClientErrorCode = ErrorCode | "unreachable" | "timeout" | "gap" | "invalid_answer";

/**
 * A failed request with its `code`. `status` is 0 when there was no answer.
 *
 * @example
 * try {
 *   await session.undo();
 * } catch (error) {
 *   if (error instanceof ClientError && error.code === "turn_running") await session.cancel();
 * }
 */
export class ClientError extends Error {
  override readonly name = "ClientError";
  readonly status: number;
  readonly code: ClientErrorCode;
  /** The id of the request in the server's log. */
  readonly requestId: string | undefined;
  readonly detail: unknown;
  /** Milliseconds that the server asks the client to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ClientErrorCode,
    message: string,
    options: { status?: number; requestId?: string; detail?: unknown; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? 0;
    this.requestId = options.requestId;
    this.detail = options.detail;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** Whether the same request may succeed a little later. */
  get retryable(): boolean {
    return this.code !== "gap" && (this.status === 0 || this.status >= 500 || [408, 425, 429].includes(this.status));
  }
}

/** @param response one without a success status */
export async function errorOf(response: Response): Promise<ClientError> {
  const { status } = response;
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const after = Number(response.headers.get("retry-after") ?? Number.NaN);
  return new ClientError(
    (body["error"] ?? "unexpected") as ErrorCode,
    String(body["message"] ?? body["error"] ?? status),
    {
      status,
      requestId: (body["request_id"] ?? response.headers.get("x-request-id") ?? undefined) as string,
      detail: body["detail"],
      ...(after >= 0 && { retryAfterMs: after * 1000 }),
    },
  );
}
