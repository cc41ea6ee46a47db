/** The error of this package. */
import type { ErrorCode } from "@chimera/acp-schema/http";

/**
 * The server's codes, and those for failures on the way: no connection, no answer in time, missing records. `unexpected` is a failure that is
 * not in the server's form, as that of a proxy.
 */
export type ClientErrorCode = ErrorCode | "unreachable" | "timeout" | "gap" | "invalid_answer" | "unexpected";

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
    options: {
      status?: number;
      requestId?: string | undefined;
      detail?: unknown;
      retryAfterMs?: number;
      cause?: unknown;
    } = {},
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
  // A proxy may answer with any JSON. `/acp` answers in the form of JSON-RPC, whose error is an object.
  const body: Failure = (await response.json().catch(() => null)) ?? {};
  const { error, detail, request_id: id } = body;
  const message = body.message ?? (typeof error === "object" ? error?.message : error) ?? status;
  const after = Number(response.headers.get("retry-after") ?? Number.NaN);
  // Every failure of the server has an id, with which it names itself as the sender of the code.
  return new ClientError(id && typeof error === "string" ? error : "unexpected", String(message), {
    status,
    requestId: id ?? response.headers.get("x-request-id") ?? undefined,
    detail,
    ...(after >= 0 && { retryAfterMs: after * 1000 }),
  });
}

// --- internal ---

interface Failure {
  readonly error?: ErrorCode | { readonly message?: string } | null;
  readonly message?: string;
  readonly detail?: unknown;
  readonly request_id?: string;
}
