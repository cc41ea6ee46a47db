/**
 * Sessions by the `Idempotency-Key` they were made with. The key is in the first record of a session, so it is found again after a
 * restart; what is in memory is only a shorter way to it.
 */
import type { Sessions } from "@chimera/session";
import type { Context } from "hono";
import type { AppEnv } from "./deps.js";
import { HttpError } from "./http-error.js";
import { LIMITS } from "./limits.js";

export type Creations = ReturnType<typeof createCreations>;

export function createCreations(sessions: Sessions, clock: () => number) {
  const made = new Map<string, Promise<string>>();
  let recalled: Promise<void> | null = null;
  const keep = (key: string, id: Promise<string>) => {
    made.set(key, id);
    if (made.size > LIMITS.rememberedCreations) made.delete(made.keys().next().value!);
  };
  /** Those of an earlier process. */
  const recall = async () => {
    const since = clock() - LIMITS.creationKeyMs;
    const { sessions: rows } = await sessions.list({ order: "created", since, limit: LIMITS.rememberedCreations });
    for (const { id, summary } of rows.toReversed()) {
      // A fork has the first prompt of its parent.
      if (summary.key !== undefined && summary.parent_id === undefined && !made.has(summary.key)) {
        keep(summary.key, Promise.resolve(id));
      }
    }
  };
  return {
    /** Makes a session with its first prompt, or finds the one whose first prompt had this key. */
    async once(key: string | undefined, make: () => Promise<string>) {
      if (key === undefined) return { id: await make(), isNew: true };
      recalled ??= recall().catch((error) => {
        // The next request tries again.
        recalled = null;
        throw error;
      });
      await recalled;
      const known = made.get(key);
      if (known) return { id: await known, isNew: false };
      const making = make();
      keep(key, making);
      try {
        return { id: await making, isNew: true };
      } catch (error) {
        made.delete(key);
        throw error;
      }
    },
  };
}

/** The key of a request. Throws `invalid_key`. */
export function keyOf(c: Context<AppEnv>): string | undefined {
  const key = c.req.header("idempotency-key");
  if (key === undefined || (key.length <= LIMITS.keyChars && /^[\x21-\x7e]+$/.test(key))) return key;
  throw new HttpError(400, "invalid_key", `an Idempotency-Key has 1 to ${LIMITS.keyChars} visible characters`);
}
