/** Credentials scoped to one session: in memory only, as digests, gone with the session they belong to. */
import { randomBytes } from "node:crypto";
import type { OwnedSession } from "@chimera/session";
import { digest, sameDigest } from "./bearer.js";

export interface SessionTokens {
  /** A new token for the session; the former one is void, and what was opened with it is cut. */
  issue(session: Pick<OwnedSession, "id" | "ended">): string;
  /** The life of the token, when `presented` is the digest of that session's token. */
  check(id: string, presented: Buffer): AbortSignal | null;
  revoke(id: string): void;
}

const BYTES = 32;

export function createSessionTokens(): SessionTokens {
  const issued = new Map<string, { readonly digest: Buffer; readonly life: AbortController }>();
  const revoke = (id: string) => {
    issued.get(id)?.life.abort();
    issued.delete(id);
  };
  return {
    revoke,
    issue(session) {
      revoke(session.id);
      const token = randomBytes(BYTES).toString("base64url");
      const entry = { digest: digest(token), life: new AbortController() };
      issued.set(session.id, entry);
      void session.ended.then(() => {
        if (issued.get(session.id) === entry) revoke(session.id);
      });
      return token;
    },
    check(id, presented) {
      const entry = issued.get(id);
      return entry && sameDigest(entry.digest, presented) ? entry.life.signal : null;
    },
  };
}
