/** Stored sessions that had a prompt, newest first, a page at a time, until there are enough. */
import type { ListedSession } from "@chimera/event-store";
import type { Summary } from "@chimera/session";
import type { SessionStore } from "../store.js";

export interface Selection {
  /** Absent: the sessions of every program. */
  readonly prefix?: string;
  /** Epoch milliseconds. */
  readonly since: number | null;
  readonly limit: number;
  readonly matches?: (session: ListedSession<Summary>) => boolean;
}

/** Pages larger than what is asked for: filters leave some rows out. */
const PAGE = 64;

export async function* selectSessions(
  store: SessionStore,
  { prefix, since, limit, matches }: Selection,
): AsyncGenerator<ListedSession<Summary>> {
  let left = limit;
  let after: string | null = null;
  do {
    const page = await store.list({
      ...(prefix !== undefined && { prefixes: [prefix] }),
      ...(since !== null && { since }),
      ...(Number.isFinite(left) && { limit: Math.max(left, PAGE) }),
      ...(after !== null && { after }),
    });
    for (const session of page.sessions) {
      if (!session.summary.prompt || matches?.(session) === false) continue;
      if (left-- <= 0) return;
      yield session;
    }
    after = page.next;
  } while (after !== null && left > 0);
}
