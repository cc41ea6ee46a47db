/**
 * Bearer tokens: read from one header, kept and compared as digests. Those of sessions are in memory and go
 * with their session, unless nodes share them.
 */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { getEventListeners, setMaxListeners } from "node:events";
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
  /** Calls back with each known session whose token is another one by now or gone, also when another node did that. */
  onVoid(known: () => ReadonlyMap<string, Buffer>, voided: (id: string) => void): void;
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

interface Issued {
  readonly digest: Buffer;
  readonly life: AbortController;
  /** Whether every node knows it. */
  readonly isShared: boolean;
}

export function createSessionTokens(hashes?: TokenHashes): SessionTokens {
  const issued = new Map<string, Issued>();
  const forget = (id: string) => {
    issued.get(id)?.life.abort();
    issued.delete(id);
  };
  const add = (id: string, hash: Buffer, isShared: boolean): Issued => {
    const entry = { digest: hash, life: createLife(), isShared };
    // What was opened meanwhile with the former token is cut.
    forget(id);
    issued.set(id, entry);
    return entry;
  };
  /** Those with which something is open. */
  const inUse = () =>
    new Map(
      [...issued]
        .filter(([, { isShared, life }]) => isShared && getEventListeners(life.signal, "abort").length > 0)
        .map(([id, entry]) => [id, entry.digest]),
    );
  hashes?.onVoid(inUse, forget);
  const revoke = async (id: string) => {
    forget(id);
    await hashes?.write(id, null);
  };
  const check: SessionTokens["check"] = async (id, presented) => {
    const known = issued.get(id);
    // Another node may have issued or revoked one. While the database is away, the one that is known counts.
    const isAsked = hashes !== undefined && known?.isShared !== false;
    const stored = isAsked ? await hashes.read(id).catch(() => known?.digest) : known?.digest;
    // A token that no node has any more is kept by none, and what it opened is cut.
    if (known && issued.get(id) === known && !(stored && sameDigest(stored, known.digest))) forget(id);
    if (!stored || !sameDigest(stored, presented)) return null;
    const entry = issued.get(id);
    return (entry && sameDigest(entry.digest, stored) ? entry : add(id, stored, true)).life.signal;
  };
  return {
    revoke,
    async issue({ id, ended, persistent }, giver) {
      forget(id);
      const token = randomBytes(BYTES).toString("base64url");
      const hash = digest(token);
      const isShared = hashes !== undefined && persistent;
      // Before it counts here: until then a look at the database finds another one there.
      if (isShared) await hashes.write(id, hash);
      const entry = add(id, hash, isShared);
      if (!isShared) void ended.then(() => issued.get(id) === entry && forget(id));
      const revoked = () => {
        if (issued.get(id) === entry) void revoke(id).catch(() => {});
      };
      giver?.addEventListener("abort", revoked, { once: true, signal: entry.life.signal });
      if (giver?.aborted) revoked();
      return token;
    },
    check,
    async find(presented, named) {
      const [id = named] = [...issued].find(([, entry]) => sameDigest(entry.digest, presented)) ?? [];
      const life = id === undefined ? null : await check(id, presented);
      return life && id !== undefined ? { id, life } : null;
    },
  };
}
