/**
 * Sign-in of the page. The page exchanges a code, which works once and not for long, for a token. Only the token's digest is kept, in
 * memory. A token ends when it is revoked or has not been used for long. Everything that was opened with it ends then.
 */
import { randomBytes } from "node:crypto";
import type { Person } from "@chimera/session";
import type { Listed } from "../deps.js";
import { LIMITS } from "../limits.js";
import { createLife, digest } from "./token.js";

export type PageTokens = ReturnType<typeof createPageTokens>;

/** @param first a code that the program has already shown to the person */
export function createPageTokens(first: string | undefined, clock: () => number) {
  const codes = new Map<string, { readonly timer: NodeJS.Timeout; readonly signer: Listed | undefined }>();
  /** By the digest of the token, in order of last use, the oldest first. */
  const issued = new Map<string, Issued>();

  const add = (code: string, signer?: Listed) => {
    const key = keyOf(digest(code));
    codes.set(key, { timer: after(LIMITS.pageCodeMs, () => codes.delete(key)), signer });
    for (const [oldest, { timer }] of codes) {
      if (codes.size <= LIMITS.pageCodes) break;
      clearTimeout(timer);
      codes.delete(oldest);
    }
    return code;
  };
  const end = (key: string, { life, idle }: Issued) => {
    clearTimeout(idle);
    issued.delete(key);
    life.abort();
  };
  if (first !== undefined) add(first);

  return {
    /** Makes a code. @param signer the person whose page it signs in (default: the master). The page's token ends with that person's own. */
    code: (signer?: Listed) => add(secret(), signer),
    /** Makes a token for a code. Null if the code is wrong, used or too old. */
    exchange(code: string, name: string | null) {
      const used = keyOf(digest(code));
      const found = codes.get(used);
      if (!found) return null;
      clearTimeout(found.timer);
      codes.delete(used);
      const { signer } = found;
      if (signer?.life.aborted) return null;
      const token = secret();
      const key = keyOf(digest(token));
      const created = clock();
      const entry: Issued = {
        id: randomBytes(6).toString("hex"),
        name,
        person: signer?.person,
        by: signer?.by,
        created,
        used: created,
        life: createLife(),
        idle: after(LIMITS.pageIdleMs, () => end(key, entry)),
      };
      issued.set(key, entry);
      signer?.life.addEventListener("abort", () => end(key, entry), { once: true, signal: entry.life.signal });
      for (const [oldest, each] of issued) if (issued.size > LIMITS.pageTokens) end(oldest, each);
      return { id: entry.id, token };
    },
    /** The page whose token has this digest. Counts as a use of the token. */
    check(presented: Buffer) {
      const key = keyOf(presented);
      const entry = issued.get(key);
      if (!entry) return null;
      entry.used = clock();
      entry.idle.refresh();
      issued.delete(key);
      issued.set(key, entry);
      const life: AbortSignal = entry.life.signal;
      return { id: entry.id, person: entry.person, by: entry.by, life };
    },
    list: () =>
      [...issued.values()].map(({ id, name, person, created, used }) => ({
        id,
        person: person?.name ?? null,
        name,
        created: new Date(created).toISOString(),
        used: new Date(used).toISOString(),
      })),
    /** False if there is no such token. */
    revoke(id: string) {
      const found = [...issued].find(([, entry]) => entry.id === id);
      if (found) end(...found);
      return found !== undefined;
    },
  };
}

// --- internal ---

interface Issued {
  readonly id: string;
  readonly name: string | null;
  readonly person: Person | undefined;
  readonly by: string | undefined;
  readonly created: number;
  used: number;
  readonly life: AbortController;
  readonly idle: NodeJS.Timeout;
}

function secret(): string {
  return randomBytes(32).toString("base64url");
}

function keyOf(hash: Buffer): string {
  return hash.toString("base64url");
}

/** Sets a timer that does not keep the process running. */
function after(ms: number, act: () => void): NodeJS.Timeout {
  return setTimeout(act, ms).unref();
}
