/**
 * Finds a session by the `Idempotency-Key` of the request that made it. The summary of the session has the key, so it is found after a
 * restart and by every node of a shared store. Memory only makes that faster.
 */
import { createHash } from "node:crypto";
import { isStoreError, LIMITS as STORE_LIMITS } from "@chimera/event-store";
import type { MakingRequest, Sessions } from "@chimera/session";
import type { Context } from "hono";
import type { AppEnv } from "./deps.js";
import { HttpError } from "./http-error.js";
import { LIMITS } from "./limits.js";

export type Creations = ReturnType<typeof createCreations>;

interface Made {
  /** The digest of the request. Absent if an older program made the session. */
  readonly digest: string | undefined;
  readonly id: Promise<string>;
}

/**
 * @param owner the person who sends the requests: people who use the same key do not meet
 * @param isShared whether other nodes make sessions in the same store.
 */
export function createCreations(
  sessions: Sessions,
  { owner, isShared, clock }: { readonly owner?: string; readonly isShared: boolean; readonly clock: () => number },
) {
  const made = new Map<string, Made>();
  let earlier: Promise<ReadonlyMap<string, Made>> | null = null;
  const stored = (key?: string) => listMade(sessions, owner, clock() - STORE_LIMITS.keyMs, key);
  const find = async (key: string): Promise<Made | undefined> => {
    if (!isShared && made.size < LIMITS.rememberedCreations) {
      earlier ??= stored().catch((error) => {
        // The next request tries again.
        earlier = null;
        throw error;
      });
      const known = await earlier;
      if (known.has(key) || known.size < LIMITS.rememberedCreations) return known.get(key);
    }
    // Other nodes make sessions too, or there are more sessions than are kept in memory.
    return (await stored(key)).get(key);
  };
  const isGone = async (id: string): Promise<boolean> => {
    const summary = sessions.find(id)?.summary() ?? (await sessions.logs.readSummary(id));
    return summary === null || summary.closed === true;
  };
  return {
    /** Makes a session, or finds the one that the same request made. Throws `key_reused` if another request had the same key. */
    async once(request: MakingRequest | undefined, make: () => Promise<string>) {
      if (request === undefined) return { id: await make(), isNew: true };
      const { key, digest } = request;
      let isNew = false;
      const begin = async (attempts = ATTEMPTS): Promise<string> => {
        const known = await find(key);
        if (known && !(await isGone(await known.id))) {
          requireSame(known, digest);
          return known.id;
        }
        try {
          const id = await make();
          isNew = true;
          return id;
        } catch (error) {
          // Another node made it first: the store accepts a key once.
          if (attempts === 1 || !isStoreError(error) || error.code !== "key_taken") throw error;
          return begin(attempts - 1);
        }
      };
      const before = made.get(key);
      // After its session was deleted, a key may make a new one.
      if (before && (await before.id.then(isGone, () => true)) && made.get(key) === before) made.delete(key);
      const present = made.get(key) ?? { digest, id: begin() };
      requireSame(present, digest);
      made.set(key, present);
      if (made.size > LIMITS.rememberedCreations) made.delete(made.keys().next().value!);
      try {
        return { id: await present.id, isNew };
      } catch (error) {
        if (made.get(key) === present) made.delete(key);
        throw error;
      }
    },
  };
}

/** The `Idempotency-Key` of a request. Throws `invalid_key`. */
export function keyOf(c: Context<AppEnv>): string | undefined {
  const key = c.req.header("idempotency-key");
  if (key === undefined || (key.length <= LIMITS.keyChars && /^[\x21-\x7e]+$/.test(key))) return key;
  throw new HttpError(400, "invalid_key", `an Idempotency-Key has 1 to ${LIMITS.keyChars} visible characters`);
}

/** The key of a request and the digest of its content: a request repeats an earlier one if both are equal. Undefined without a key. */
export function requestOf(c: Context<AppEnv>, body: object): MakingRequest | undefined {
  const key = keyOf(c);
  if (key === undefined) return undefined;
  const asked = JSON.stringify([c.req.method, c.req.path, body]);
  return { key, digest: createHash("sha256").update(asked).digest("base64url") };
}

// --- internal ---

/** How often to try again while another node makes, and perhaps deletes, the session of the same key. */
const ATTEMPTS = 3;

/** The stored sessions that were made with a key: with this key, or without `key` with any. */
async function listMade(
  sessions: Sessions,
  owner: string | undefined,
  since: number,
  key?: string,
): Promise<ReadonlyMap<string, Made>> {
  const { sessions: rows } = await sessions.listAll({
    prefixes: [sessions.prefix],
    order: "created",
    since,
    closed: false,
    limit: LIMITS.rememberedCreations,
    ...(key !== undefined && { key }),
  });
  // A fork that was made without a key has the key of its parent's first prompt, so it does not count.
  const own = rows.filter(
    ({ summary: { parent_id, request, ...one } }) =>
      one.owner === owner && (parent_id === undefined || request !== undefined),
  );
  return new Map(
    own
      .toReversed()
      .map(({ id, summary }) => [summary.key ?? "", { digest: summary.request, id: Promise.resolve(id) }]),
  );
}

function requireSame({ digest }: Made, asked: string): void {
  if (digest === undefined || digest === asked) return;
  throw new HttpError(422, "key_reused", "another request was sent with this key");
}
