/** Everything this package throws; none of it carries the token. */
export type BridgeErrorCode =
  /** The address is not an http(s) URL, or holds credentials. */
  | "bad_remote_url"
  /** The address is not TLS, and `insecure` was not given. */
  | "insecure_url"
  /** There is no token, or it cannot be sent in a header. */
  | "bad_token"
  /** 401 or 403: the remote does not take the token. */
  | "unauthorized"
  /** What answered does not speak this contract. */
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

/** What a status means for the bridge; undefined for one of success. */
export function statusError(status: number, what: string): BridgeError | undefined {
  if (status >= 200 && status < 300) return undefined;
  const message = `${what} was answered ${status}`;
  if (status === 401 || status === 403)
    return new BridgeError("unauthorized", `${message}: the token was not accepted`);
  if (status === 404 || status === 410) return new BridgeError("unknown_session", message);
  if (LATER.has(status) || status >= 500) return new BridgeError("unreachable", message);
  return new BridgeError("not_a_receiver", message);
}

/** What went wrong on the wire as what it means for the bridge. */
export function networkError(cause: unknown, what: string): BridgeError {
  const { code = "", message = String(cause) } = cause as NodeJS.ErrnoException;
  if (HANDSHAKE.test(code)) {
    // Only who speaks TLS can send an alert.
    const alert = /:([^:]*alert[^:]*):/.exec(message)?.[1];
    const reason = alert ? `the remote refused the TLS handshake: ${alert}` : "the remote does not speak TLS";
    return new BridgeError("not_a_receiver", `${what} failed: ${reason}`, { cause });
  }
  const kind = CERTIFICATE.test(code) ? "untrusted_certificate" : "unreachable";
  return new BridgeError(kind, `${what} failed: ${message || code}`, { cause });
}

// --- internal ---

/** Statuses that say "later"; every other refusal says that this is not a receiver. */
const LATER = new Set([408, 425, 429]);

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/;

const HANDSHAKE = /^(EPROTO|ERR_SSL_.*)$/;
