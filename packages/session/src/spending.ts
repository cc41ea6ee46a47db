/** The cost of sessions since midnight, UTC. Loaded sessions report it themselves; for the others it is read from logs and summaries. */
import { createCounts } from "./counts.js";

export interface Measured {
  readonly id: string;
  readonly owner?: string | undefined;
}

/** The cost of a session. */
export interface SessionCost extends Measured {
  readonly usd: number;
  /** The part since the given time. Null if the session was known: then its log is not read. */
  readonly since: number | null;
}

export function createSpending(deps: {
  readonly clock: () => number;
  /** The sessions that this process has. */
  readonly here: () => readonly Pick<Measured, "id">[];
  /** True if other processes of the same store count too. */
  readonly isShared: boolean;
  readonly spentSince: (time: number, isKnown: (id: string) => boolean) => AsyncIterable<SessionCost>;
}) {
  const { clock, here } = deps;
  const dollars = createCounts();
  /** The last known cost of each session. */
  const costs = new Map<string, number>();
  let day = dayOf(clock());
  const today = () => {
    const now = dayOf(clock());
    if (now !== day) dollars.clear();
    day = now;
    return dollars;
  };
  const spent = (owner: string | undefined, sessionId: string, usd: number): void => {
    const before = costs.get(sessionId);
    // The cost of a session before it was loaded does not count as today's. In a shared store, another process may have spent it today: then
    // `count` reads it from the log.
    if (before === undefined && usd > 0 && deps.isShared) return;
    // A summary may be older than the last report of its session.
    if (before !== undefined && usd <= before) return;
    costs.set(sessionId, usd);
    if (before !== undefined) today().add(owner, usd - before);
  };
  return {
    /** Dollars since midnight. */
    of: (owner: string | undefined) => today().of(owner),
    /** Reports what a session has cost so far. */
    spent,
    forget: (sessionId: string) => void costs.delete(sessionId),
    /** Reads the cost of sessions that did not report it here. */
    async count(): Promise<void> {
      today();
      const before = new Set(here().map(({ id }) => id));
      const seen = new Set<string>();
      for await (const { id, owner, usd, since } of deps.spentSince(day * DAY_MS, (one) => costs.has(one))) {
        seen.add(id);
        if (since !== null) {
          today().add(owner, since);
          costs.set(id, usd);
          // Sessions that are loaded here report their cost themselves.
        } else if (!before.has(id)) spent(owner, id, usd);
      }
      // Read the list again: a session that was made meanwhile is not in the earlier ones.
      const kept = new Set(here().map(({ id }) => id));
      for (const id of costs.keys()) if (!seen.has(id) && !kept.has(id)) costs.delete(id);
    },
  };
}

// --- internal ---

const DAY_MS = 86_400_000;

function dayOf(time: number): number {
  return Math.floor(time / DAY_MS);
}
