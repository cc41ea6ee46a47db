/** The JSON-RPC 2.0 error codes that this package itself sends. */
export const ErrorCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** Too many requests are unanswered. The handler was not called, so the peer may send the same request again. */
  overloaded: -32001,
  requestCancelled: -32800,
} as const;

const rpcBrand = Symbol.for("@chimera/ndjson-rpc/RpcError");
const localBrand = Symbol.for("@chimera/ndjson-rpc/ConnectionError");

/** The `error` member of a JSON-RPC response. */
export interface RpcErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** An error that crosses the wire: a handler throws it to send it to the peer, and `request` throws it when the peer sent it. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly [rpcBrand] = true;
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.data = data;
  }
}

/**
 * True for an {@link RpcError} of any installed copy of this package.
 *
 * @example
 * if (isRpcError(error)) console.error(error.code, error.message);
 */
export function isRpcError(value: unknown): value is RpcError {
  return hasBrand(value, rpcBrand);
}

/** Why a call on this side of a connection failed; never sent to the peer. */
export type ConnectionErrorCode = "closed" | "aborted" | "unserializable" | "invalid_result" | "unhandled";

/** An error that stays on this side of the wire. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly [localBrand] = true;
  readonly code: ConnectionErrorCode;

  constructor(code: ConnectionErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * True for a {@link ConnectionError} of any installed copy of this package.
 *
 * @example
 * await connection.request(call, params).catch((error) => { if (!isConnectionError(error)) throw error; });
 */
export function isConnectionError(value: unknown): value is ConnectionError {
  return hasBrand(value, localBrand);
}

function hasBrand(value: unknown, brand: symbol): boolean {
  return typeof value === "object" && value !== null && brand in value;
}
