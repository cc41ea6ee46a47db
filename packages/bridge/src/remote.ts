/** Checks the address of the remote before anything is sent, and ensures that the token travels encrypted. */
import { BridgeError } from "./errors.js";

export interface Remote {
  /** The receiver's address, to which `/api/sessions` is appended. */
  readonly remoteUrl: string;
  readonly token: string;
  /** Allows sending the token without TLS. Certificates are checked either way. @defaultValue false */
  readonly insecure?: boolean;
}

export type RemoteAddress = ReturnType<typeof parseRemoteAddress>;

/**
 * Throws BridgeError `bad_remote_url`, `insecure_url` or `bad_token`.
 *
 * @example
 * checkRemote({ remoteUrl: "wss://console.example/agents", token });
 */
export function checkRemote({ remoteUrl, token, insecure = false }: Remote): {
  readonly address: RemoteAddress;
  readonly token: string;
} {
  const address = parseRemoteAddress(remoteUrl, insecure);
  if (/^[\x21-\x7e]+$/.test(token)) return { address, token };
  throw new BridgeError(
    "bad_token",
    token ? "the token has characters that a header cannot have" : "there is no token",
  );
}

// --- internal ---

function parseRemoteAddress(text: string, insecure: boolean) {
  const base = URL.canParse(text) ? new URL(text) : null;
  if (!base || !["http:", "https:"].includes(base.protocol)) {
    throw new BridgeError("bad_remote_url", "the remote must be an https address");
  }
  if (base.username || base.password) {
    throw new BridgeError(
      "bad_remote_url",
      "the remote's address may not contain credentials; pass the token separately",
    );
  }
  if (base.protocol === "http:" && !insecure) {
    throw new BridgeError("insecure_url", `${base.origin} is not encrypted; use https, or --insecure to go without`);
  }
  const shown = `${base.origin}${base.pathname.replace(/\/+$/, "")}`;
  return {
    /** The address to show, without query or trailing slash. */
    shown,
    /** An address below it. The segments are encoded. */
    at: (...segments: readonly string[]) => new URL(`${shown}/${segments.map(encodeURIComponent).join("/")}`),
    /** The WebSocket address from a registration. It may be relative, and needs TLS too unless `insecure` is set. */
    socket(given: unknown) {
      const url = typeof given === "string" && URL.canParse(given, shown) ? new URL(given, shown) : null;
      if (url && !URL.canParse(given as string)) url.protocol = base.protocol === "https:" ? "wss:" : "ws:";
      if (!url || !["ws:", "wss:"].includes(url.protocol)) {
        throw new BridgeError("not_a_receiver", "the remote named no WebSocket");
      }
      if (url.protocol === "ws:" && !insecure) {
        throw new BridgeError("not_a_receiver", `the remote named a WebSocket that is not encrypted: ${url.origin}`);
      }
      return url;
    },
    /** The page address from a registration; null unless a browser could open it. */
    page(given: unknown) {
      if (typeof given !== "string" || !URL.canParse(given, shown)) return null;
      const url = new URL(given, shown);
      // The address is shown on a terminal and opened in a browser. Parsing has escaped control characters in it.
      return ["http:", "https:"].includes(url.protocol) ? url.href : null;
    },
  };
}
