/** What went wrong on the wire -> what it means for the bridge. */
import { BridgeError } from "./errors.js";

/** Statuses that say "later"; every other refusal says that this is not our kind of server. */
const LATER = new Set([408, 425, 429]);

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/;

const HANDSHAKE = /^(EPROTO|ERR_SSL_.*)$/;

/** Undefined for a status of success. */
export function statusError(status: number, what: string): BridgeError | undefined {
  if (status >= 200 && status < 300) return undefined;
  const message = `${what} was answered ${status}`;
  if (status === 401 || status === 403)
    return new BridgeError("unauthorized", `${message}: the token was not accepted`);
  if (status === 404 || status === 410) return new BridgeError("unknown_session", message);
  if (LATER.has(status) || status >= 500) return new BridgeError("unreachable", message);
  return new BridgeError("not_a_receiver", message);
}

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
