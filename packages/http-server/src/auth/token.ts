/** Bearer tokens: read from one header, kept and compared as digests. Those of sessions are in memory only and go with their session. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { OwnedSession } from "@chimera/session";

/** The token of an Authorization header; null for none, another scheme, or two headers (which arrive joined by a comma). */
export function bearerToken(header: string | undefined): string | null {
  return /^Bearer +([^\s,]+)$/i.exec(header ?? "")?.[1] ?? null;
}

export function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** In constant time, whatever was presented. */
export function sameDigest(a: Buffer, b: Buffer): boolean {
  return timingSafeEqual(a, b);
}

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
