/**
 * Bearer tokens: read from one header, kept and compared as digests. Those of sessions are in memory and go
 * with their session, unless nodes share them.
 */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { setMaxListeners } from "node:events";
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
  /**
   * A new token for the session; the former one is void, and what was opened with it is cut.
   *
   * @param giver the life of the token that asked for it: with that one it ends too.
   */
  issue(session: Pick<OwnedSession, "id" | "ended" | "persistent">, giver?: AbortSignal): Promise<string>;
  /** The life of the token, when `presented` is the digest of that session's token. */
  check(id: string, presented: Buffer): Promise<AbortSignal | null>;
  /** The session whose token this is the digest of. One whose token another node issued is found only by its name. */
  find(
    presented: Buffer,
    named: string | undefined,
  ): Promise<{ readonly id: string; readonly life: AbortSignal } | null>;
  revoke(id: string): Promise<void>;
}

/** Where several nodes share the digests of session tokens: every node knows them, and they outlive the process. */
export interface TokenHashes {
  read(id: string): Promise<Buffer | null>;
  write(id: string, hash: Buffer | null): Promise<void>;
  onChange(changed: (id: string) => void): void;
}

const BYTES = 32;

/**
 * The life of a token. Any number of streams may wait for its end.
 *
 * @example
 * const life = createLife();
 * life.signal.addEventListener("abort", cut);
 */
export function createLife(): AbortController {
  const life = new AbortController();
  setMaxListeners(0, life.signal);
  return life;
}

export function createSessionTokens(hashes?: TokenHashes): SessionTokens {
  const issued = new Map<string, { readonly digest: Buffer; readonly life: AbortController }>();
  const forget = (id: string) => {
    issued.get(id)?.life.abort();
    issued.delete(id);
  };
  const add = (id: string, hash: Buffer) => {
    const entry = { digest: hash, life: createLife() };
    issued.set(id, entry);
    return entry;
  };
  hashes?.onChange(async (id) => {
    const known = issued.get(id);
    const now = known && (await hashes.read(id).catch(() => null));
    if (known && issued.get(id) === known && !(now && sameDigest(now, known.digest))) forget(id);
  });
  const revoke = async (id: string) => {
    forget(id);
    await hashes?.write(id, null);
  };
  const check: SessionTokens["check"] = async (id, presented) => {
    const entry = issued.get(id);
    if (entry) return sameDigest(entry.digest, presented) ? entry.life.signal : null;
    const stored = await hashes?.read(id).catch(() => null);
    return stored && sameDigest(stored, presented) ? add(id, stored).life.signal : null;
  };
  return {
    revoke,
    async issue({ id, ended, persistent }, giver) {
      forget(id);
      const token = randomBytes(BYTES).toString("base64url");
      const entry = add(id, digest(token));
      if (hashes && persistent) await hashes.write(id, entry.digest);
      else void ended.then(() => issued.get(id) === entry && forget(id));
      const revoked = () => {
        if (issued.get(id) === entry) void revoke(id).catch(() => {});
      };
      giver?.addEventListener("abort", revoked, { once: true, signal: entry.life.signal });
      return token;
    },
    check,
    async find(presented, named) {
      for (const [id, entry] of issued) if (sameDigest(entry.digest, presented)) return { id, life: entry.life.signal };
      const life = named === undefined ? null : await check(named, presented);
      return life && named !== undefined ? { id: named, life } : null;
    },
  };
}
