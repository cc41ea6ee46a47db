/**
 * Bearer tokens, kept and compared as digests. The tokens of sessions are kept in memory and end with their session, unless nodes share
 * them in a database.
 */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { getEventListeners, setMaxListeners } from "node:events";
import type { OwnedSession, SessionLogs, Sessions } from "@chimera/session";
import { LIMITS } from "../limits.js";

/** The token of an Authorization header. Null without one, for another scheme, and for two headers (which arrive joined by a comma). */
export function bearerToken(header: string | undefined): string | null {
  return /^Bearer +([^\s,]+)$/i.exec(header ?? "")?.[1] ?? null;
}

export function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Compares in constant time, so that the time does not reveal a digest. */
export function sameDigest(a: Buffer, b: Buffer): boolean {
  return timingSafeEqual(a, b);
}

export type SessionTokens = ReturnType<typeof createSessionTokens>;

/** The caller for whom a session's token is made. */
export interface Giver {
  readonly life: AbortSignal;
  /** The id of the giver's entry in the list of people. Absent for a giver who is not on the list. */
  readonly by?: string | undefined;
}

/** The life of an entry in the list of people. Null if the entry is gone. */
export type LifeOf = (by: string) => Promise<AbortSignal | null>;

/** The store in which several nodes share the digests of session tokens. The digests outlive the process. */
export interface TokenHashes {
  read(id: string): Promise<StoredToken | null>;
  write(id: string, token: StoredToken): Promise<void>;
  /** Removes the token of a session. With `hash`, only if that is still its digest. */
  remove(id: string, hash?: Buffer): Promise<void>;
  /** Calls `voided` for each known session whose token was replaced or removed, by this node or another. */
  onVoid(known: () => ReadonlyMap<string, Buffer>, voided: (id: string) => void): void;
}

interface StoredToken {
  readonly hash: Buffer;
  readonly by: string | null;
}

const BYTES = 32;

/**
 * Makes the life of a token. Any number of streams may wait for its end.
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
  /** Whether the shared store has it, so that every node knows it. */
  readonly isShared: boolean;
  /** Stops listening for the end of its giver. */
  untie(): void;
}

/** The part of the sessions that tells when a token ends. */
type Lasting = Pick<Sessions, "onLoad"> & { readonly logs: Pick<SessionLogs, "lastSeq"> };

type Lived = Pick<OwnedSession, "id" | "ended" | "isLetGo" | "lastSeq">;

/**
 * @param hashes the store of digests that all nodes share; without it, digests are kept in memory only
 * @param lifeOf finds the life of an entry in the list of people; without it, this process has no list
 */
export function createSessionTokens(sessions: Lasting, hashes?: TokenHashes, lifeOf?: LifeOf) {
  /** By session, in order of last use, the oldest first. */
  const issued = new Map<string, Issued>();
  const forget = (id: string) => {
    const entry = issued.get(id);
    issued.delete(id);
    entry?.untie();
    entry?.life.abort();
  };
  /** @param lives the lives of the giver: the token ends with the first of them */
  const add = (id: string, hash: Buffer, isShared: boolean, lives: readonly AbortSignal[]): Issued => {
    const life = createLife();
    const end = () => {
      if (issued.get(id) === entry) void revoke(id, hash).catch(() => {});
    };
    const untie = () => {
      for (const giver of lives) giver.removeEventListener("abort", end);
    };
    const entry = { digest: hash, life, isShared, untie };
    // Closes what was opened with the old token meanwhile.
    forget(id);
    issued.set(id, entry);
    for (const giver of lives) giver.addEventListener("abort", end, { once: true });
    if (lives.some((giver) => giver.aborted)) end();
    dropUnused();
    return entry;
  };
  /** Forgets unused tokens of the shared store, where the next check finds them again. */
  const dropUnused = (): void => {
    for (const [id, entry] of issued) {
      if (issued.size <= LIMITS.rememberedTokens) return;
      if (entry.isShared && !isInUse(entry)) forget(id);
    }
  };
  /** The shared tokens with which something is open. */
  const inUse = () =>
    new Map([...issued].filter(([, one]) => one.isShared && isInUse(one)).map(([id, entry]) => [id, entry.digest]));
  hashes?.onVoid(inUse, forget);
  const tie = tieToSessions(sessions, issued, forget);
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
    // Another node may have issued or revoked a token. While the database cannot be reached, the token in memory counts.
    const isAsked = hashes !== undefined && known?.isShared !== false;
    const here = known ? { hash: known.digest, by: null } : null;
    const stored = isAsked ? await hashes.read(id).catch(() => here) : here;
    // The shared store no longer has this token: forget it, and close what was opened with it.
    if (known && issued.get(id) === known && !(stored && sameDigest(stored.hash, known.digest))) forget(id);
    if (!stored || !sameDigest(stored.hash, presented)) return null;
    const { hash, by } = stored;
    const kept = keptOf(id, hash);
    if (kept) return kept.life.signal;
    // The giver may have been removed from the list of people while this node did not have the token in memory.
    const giver = by === null ? undefined : await (lifeOf?.(by) ?? null);
    if (giver === null) return null;
    return (keptOf(id, hash) ?? add(id, hash, true, giver ? [giver] : [])).life.signal;
  };
  return {
    revoke: (id: string) => revoke(id),
    /**
     * Makes a new token for the session, which ends with its giver's own token. Ends the old one, and closes what was opened with it.
     */
    async issue(session: Lived & Pick<OwnedSession, "persistent">, { life, by }: Partial<Giver> = {}) {
      const { id, persistent } = session;
      forget(id);
      const token = randomBytes(BYTES).toString("base64url");
      const hash = digest(token);
      const isShared = hashes !== undefined && persistent;
      const onList = by === undefined || !lifeOf ? undefined : ((await lifeOf(by)) ?? AbortSignal.abort());
      // Write it to the shared store first: until then, a check would still find the old token there.
      if (isShared) await hashes.write(id, { hash, by: by ?? null });
      const lives = [life, onList].flatMap((one) => one ?? []);
      add(id, hash, isShared, lives);
      tie(session);
      return token;
    },
    /** The life of a session's token if `presented` is its digest, else null. */
    check,
    /** The session whose token has this digest. A token that is not in memory is found only if the request names its session. */
    async find(presented: Buffer, named: string | undefined) {
      const [id = named] = [...issued].find(([, entry]) => sameDigest(entry.digest, presented)) ?? [];
      const life = id === undefined ? null : await check(id, presented);
      return life && id !== undefined ? { id, life } : null;
    },
  };
}

// --- internal ---

function isInUse({ life }: Issued): boolean {
  return getEventListeners(life.signal, "abort").length > 0;
}

/** Ends each token in memory with its session, also with one that is loaded again. The returned function ties a new token. */
function tieToSessions({ onLoad, logs }: Lasting, issued: ReadonlyMap<string, Issued>, forget: (id: string) => void) {
  const tie = (session: Lived): void => {
    const { id } = session;
    const entry = issued.get(id);
    if (entry?.isShared !== false) return;
    void session.ended.then(async () => {
      // Another process went on with the session, which is loaded again. Its streams go on too.
      if (session.isLetGo && (await logs.lastSeq(id).catch(() => 0)) > session.lastSeq) return;
      if (issued.get(id) === entry) forget(id);
    });
  };
  onLoad(tie);
  return tie;
}
