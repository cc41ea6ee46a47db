/** The codes of this package's errors. No error contains the token. */
export type BridgeErrorCode =
  /** The address is not an http(s) URL, or contains credentials. */
  | "bad_remote_url"
  /** The address has no TLS, and `insecure` is not set. */
  | "insecure_url"
  /** The token is missing, or cannot be sent in a header. */
  | "bad_token"
  /** 401 or 403: the remote refused the token. */
  | "unauthorized"
  /** The server that answered does not follow this contract. */
  | "not_a_receiver"
  | "untrusted_certificate"
  /** The remote has forgotten the session. Registering again helps. */
  | "unknown_session"
  /** No answer, or an answer that asks to try later. */
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

/**
 * True for a BridgeError of any installed copy of this package.
 *
 * @example
 * if (isBridgeError(error) && error.code === "bad_token") console.error("check the token");
 */
export function isBridgeError(error: unknown): error is BridgeError {
  return typeof error === "object" && error !== null && BRAND in error;
}

/** The error for a status; undefined for success. */
export function statusError(status: number, what: string): BridgeError | undefined {
  if (status >= 200 && status < 300) return undefined;
  const message = `${what} was answered ${status}`;
  if (status === 401 || status === 403)
    return new BridgeError("unauthorized", `${message}: the token was not accepted`);
  if (status === 404 || status === 410) return new BridgeError("unknown_session", message);
  if (LATER.has(status) || status >= 500) return new BridgeError("unreachable", message);
  return new BridgeError("not_a_receiver", message);
}

/** The error for a failed connection. */
export function networkError(cause: unknown, what: string): BridgeError {
  const { code = "", message = String(cause) } = cause as NodeJS.ErrnoException;
  if (HANDSHAKE.test(code)) {
    // A TLS alert shows that the remote does speak TLS.
    const alert = /:([^:]*alert[^:]*):/.exec(message)?.[1];
    const reason = alert ? `the remote refused the TLS handshake: ${alert}` : "the remote does not speak TLS";
    return new BridgeError("not_a_receiver", `${what} failed: ${reason}`, { cause });
  }
  const kind = CERTIFICATE.test(code) ? "untrusted_certificate" : "unreachable";
  return new BridgeError(kind, `${what} failed: ${message || code}`, { cause });
}

// --- internal ---

/** Statuses that ask to try later. Any other refusal means that this is not a receiver. */
const LATER = new Set([408, 425, 429]);

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/;

const HANDSHAKE = /^(EPROTO|ERR_SSL_.*)$/;
