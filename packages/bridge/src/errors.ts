/** Everything this package throws; none of it carries the token. */
export type BridgeErrorCode =
  /** The address is no http(s) URL, or holds credentials. */
  | "bad_remote_url"
  /** The address is not TLS, and `insecure` was not given. */
  | "insecure_url"
  /** There is no token, or it cannot be sent in a header. */
  | "bad_token"
  /** 401 or 403: the remote does not take the token. */
  | "unauthorized"
  /** Whoever answered does not speak this contract. */
  | "not_a_receiver"
  | "untrusted_certificate"
  /** The remote no longer knows the session; registering again helps. */
  | "unknown_session"
  /** No answer, or one that says to come back later. */
  | "unreachable";

const BRAND = Symbol.for("@chimera/bridge/error");

export class BridgeError extends Error {
  override readonly name = "BridgeError";
  readonly [BRAND] = true;
  readonly code: BridgeErrorCode;

  constructor(code: BridgeErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** True for a BridgeError of any installed copy of this package. */
export function isBridgeError(error: unknown): error is BridgeError {
  return typeof error === "object" && error !== null && BRAND in error;
}
