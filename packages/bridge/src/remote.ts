/** Where the remote is, checked before anything is sent, and the rule that what carries the token is encrypted. */
import { BridgeError } from "./errors.js";

export interface Remote {
  /** Where the receiver lives; `/api/sessions` is looked for below it. */
  readonly remoteUrl: string;
  readonly token: string;
  /** Lets the token travel without TLS. Certificates are checked either way. @defaultValue false */
  readonly insecure?: boolean;
}

export type RemoteAddress = ReturnType<typeof parseRemoteAddress>;

/** Throws BridgeError `bad_remote_url`, `insecure_url` or `bad_token`. */
export function checkRemote({ remoteUrl, token, insecure = false }: Remote): {
  readonly address: RemoteAddress;
  readonly token: string;
} {
  const address = parseRemoteAddress(remoteUrl, insecure);
  if (/^[\x21-\x7e]+$/.test(token)) return { address, token };
  throw new BridgeError("bad_token", token ? "the token holds characters a header cannot carry" : "there is no token");
}

// --- internal ---

function parseRemoteAddress(text: string, insecure: boolean) {
  const base = URL.canParse(text) ? new URL(text) : null;
  if (!base || !["http:", "https:"].includes(base.protocol)) {
    throw new BridgeError("bad_remote_url", "the remote must be an https address");
  }
  if (base.username || base.password) {
    throw new BridgeError("bad_remote_url", "the remote's address may not hold credentials; pass the token apart");
  }
  if (base.protocol === "http:" && !insecure) {
    throw new BridgeError("insecure_url", `${base.origin} is not encrypted; use https, or --insecure to go without`);
  }
  const shown = `${base.origin}${base.pathname.replace(/\/+$/, "")}`;
  return {
    /** As it may be shown: without credentials, query or trailing slash. */
    shown,
    /** An address below it, made of literal segments. */
    at: (...segments: readonly string[]) => new URL(`${shown}/${segments.map(encodeURIComponent).join("/")}`),
    /** The WebSocket a registration names; relative to the remote, and held to the same rule. */
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
    /** The page a registration names, or null when it is not one a person could open. */
    page(given: unknown) {
      if (typeof given !== "string" || !URL.canParse(given, shown)) return null;
      const url = new URL(given, shown);
      // It is shown on a terminal and opened in a browser: parsing has escaped what could be more than text.
      return ["http:", "https:"].includes(url.protocol) ? url.href : null;
    },
  };
}
