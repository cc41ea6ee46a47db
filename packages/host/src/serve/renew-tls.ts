/** Replaces the certificate while the server runs: new connections get the new pair, and existing ones stay. */
import { readFileSync, unwatchFile, watchFile } from "node:fs";
import type { Server } from "node:http";
import type { Server as TlsServer } from "node:tls";
import type { Log } from "../log/log.js";

/** How often the files are checked. A certificate is replaced weeks before it expires, so nobody waits for the new one. */
const LOOK_MS = 2000;

export interface Renewal {
  /** Reads the files and uses them. */
  renew(): void;
  /** Stops looking at the files. */
  stop(): void;
}

export function renewTls(server: Server, [cert, key]: readonly [cert: string, key: string], log: Log): Renewal {
  const renew = () => {
    try {
      (server as unknown as TlsServer).setSecureContext({
        cert: readFileSync(cert),
        key: readFileSync(key),
        minVersion: "TLSv1.2",
      });
      log.info("the TLS certificate was read again", { cert });
    } catch (error) {
      // The two files are written one after the other, so the pair may match only after the next change.
      log.warn("the TLS certificate cannot be used, and the one before stays", { cert, error: String(error) });
    }
  };
  for (const file of [cert, key]) watchFile(file, { interval: LOOK_MS, persistent: false }, renew);
  const stop = () => {
    for (const file of [cert, key]) unwatchFile(file, renew);
  };
  return { renew, stop };
}
