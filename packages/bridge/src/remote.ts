/** Whom to attach to, checked before anything is sent. */
import { BridgeError } from "./errors.js";
import { parseRemoteAddress, type RemoteAddress } from "./remote-address.js";

export interface Remote {
  /** Where the receiver lives; `/api/sessions` is looked for below it. */
  readonly remoteUrl: string;
  readonly token: string;
  /** Lets the token travel without TLS. Certificates are checked either way. @defaultValue false */
  readonly insecure?: boolean;
}

/** Throws BridgeError `bad_remote_url`, `insecure_url` or `bad_token`. */
export function checkRemote({ remoteUrl, token, insecure = false }: Remote): {
  readonly address: RemoteAddress;
  readonly token: string;
} {
  const address = parseRemoteAddress(remoteUrl, insecure);
  if (/^[\x21-\x7e]+$/.test(token)) return { address, token };
  throw new BridgeError("bad_token", token ? "the token holds characters a header cannot carry" : "there is no token");
}
