/**
 * Bearer tokens: read from one header, kept and compared as digests. Those of sessions are in memory and go
 * with their session, unless nodes share them.
 */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { getEventListeners, setMaxListeners } from "node:events";
import type { OwnedSession } from "@chimera/session";
import { LIMITS } from "../limits.js";

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

export type SessionTokens = ReturnType<typeof createSessionTokens>;

/** Who asks for a session's token. */
export interface Giver {
  readonly life: AbortSignal;
  /** Their entry in the list of people, which every node has; absent where they are not on it. */
  readonly by?: string | undefined;
}

/** The life of an entry in the list of people; null for one that is gone. */
export type LifeOf = (by: string) => Promise<AbortSignal | null>;

/** Where several nodes share the digests of session tokens: every node knows them, and they outlive the process. */
export interface TokenHashes {
  read(id: string): Promise<StoredToken | null>;
  write(id: string, token: StoredToken): Promise<void>;
  /** Takes the token away, unless it is another one than this by now. */
  remove(id: string, hash?: Buffer): Promise<void>;
  /** Calls back with each known session whose token is another one by now or gone, also when another node did that. */
  onVoid(known: () => ReadonlyMap<string, Buffer>, voided: (id: string) => void): void;
}

interface StoredToken {
  readonly hash: Buffer;
  readonly by: string | null;
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
  /** It no longer ends with its giver. */
  untie(): void;
}

/**
 * @param hashes where all nodes find them; without, they are in memory alone.
 * @param lifeOf whether somebody is still on the list of people; without, this process has no list.
 */
export function createSessionTokens(hashes?: TokenHashes, lifeOf?: LifeOf) {
  /** The one that was asked about longest ago first. */
  const issued = new Map<string, Issued>();
  const forget = (id: string) => {
    const entry = issued.get(id);
    issued.delete(id);
    entry?.untie();
    entry?.life.abort();
  };
  /** @param lives those of the giver: with the first that ends, the token does. */
  const add = (id: string, hash: Buffer, isShared: boolean, lives: readonly AbortSignal[]): Issued => {
    const life = createLife();
    const end = () => {
      if (issued.get(id) === entry) void revoke(id, hash).catch(() => {});
    };
    const untie = () => {
      for (const giver of lives) giver.removeEventListener("abort", end);
    };
    const entry = { digest: hash, life, isShared, untie };
    // What was opened meanwhile with the former token is cut.
    forget(id);
    issued.set(id, entry);
    for (const giver of lives) giver.addEventListener("abort", end, { once: true });
    if (lives.some((giver) => giver.aborted)) end();
    dropUnused();
    return entry;
  };
  const isInUse = ({ life }: Issued) => getEventListeners(life.signal, "abort").length > 0;
  /** One that the database has is found again there. */
  const dropUnused = (): void => {
    for (const [id, entry] of issued) {
      if (issued.size <= LIMITS.rememberedTokens) return;
      if (entry.isShared && !isInUse(entry)) forget(id);
    }
  };
  /** Those with which something is open. */
  const inUse = () =>
    new Map([...issued].filter(([, one]) => one.isShared && isInUse(one)).map(([id, entry]) => [id, entry.digest]));
  hashes?.onVoid(inUse, forget);
  const revoke = async (id: string, hash?: Buffer) => {
    forget(id);
    await hashes?.remove(id, hash);
  };
  const keptOf = (id: string, hash: Buffer): Issued | undefined => {
    const entry = issued.get(id);
    if (!entry || !sameDigest(entry.digest, hash)) return undefined;
    issued.delete(id);
    issued.set(id, entry);
    return entry;
  };
  const check = async (id: string, presented: Buffer): Promise<AbortSignal | null> => {
    const known = issued.get(id);
    // Another node may have issued or revoked one. While the database is away, the one that is known counts.
    const isAsked = hashes !== undefined && known?.isShared !== false;
    const here = known ? { hash: known.digest, by: null } : null;
    const stored = isAsked ? await hashes.read(id).catch(() => here) : here;
    // A token that no node has any more is kept by none, and what it opened is cut.
    if (known && issued.get(id) === known && !(stored && sameDigest(stored.hash, known.digest))) forget(id);
    if (!stored || !sameDigest(stored.hash, presented)) return null;
    const { hash, by } = stored;
    const kept = keptOf(id, hash);
    if (kept) return kept.life.signal;
    // The person who asked for it may have been taken off the list while this node did not keep the token.
    const giver = by === null ? undefined : await (lifeOf?.(by) ?? null);
    if (giver === null) return null;
    return (keptOf(id, hash) ?? add(id, hash, true, giver ? [giver] : [])).life.signal;
  };
  return {
    revoke: (id: string) => revoke(id),
    /**
     * A new token for the session; the former one is void, and what was opened with it is cut.
     *
     * @param giver who asked for it: with their own token it ends too.
     */
    async issue({ id, ended, persistent }: Pick<OwnedSession, "id" | "ended" | "persistent">, giver?: Giver) {
      forget(id);
      const token = randomBytes(BYTES).toString("base64url");
      const hash = digest(token);
      const isShared = hashes !== undefined && persistent;
      const { life, by } = giver ?? {};
      const onList = by === undefined || !lifeOf ? undefined : ((await lifeOf(by)) ?? AbortSignal.abort());
      // Before it counts here: until then a look at the database finds another one there.
      if (isShared) await hashes.write(id, { hash, by: by ?? null });
      const lives = [life, onList].flatMap((one) => one ?? []);
      const entry = add(id, hash, isShared, lives);
      if (!isShared) void ended.then(() => issued.get(id) === entry && forget(id));
      return token;
    },
    /** The life of the token, when `presented` is the digest of that session's token. */
    check,
    /** The session whose token this is the digest of. One whose token another node issued is found only by its name. */
    async find(presented: Buffer, named: string | undefined) {
      const [id = named] = [...issued].find(([, entry]) => sameDigest(entry.digest, presented)) ?? [];
      const life = id === undefined ? null : await check(id, presented);
      return life && id !== undefined ? { id, life } : null;
    },
  };
}
