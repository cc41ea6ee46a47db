/** What sessions have cost since midnight, UTC: those in memory say it themselves, the others by their logs. */
import { createCounts } from "./counts.js";

export interface Measured {
  readonly id: string;
  readonly owner?: string | undefined;
}

/** What a session has cost. */
export interface SessionCost extends Measured {
  readonly usd: number;
  /** Since the time that was asked about; null for a session that was known: its log is not read again. */
  readonly since: number | null;
}

export function createSpending(deps: {
  readonly clock: () => number;
  /** The sessions that this process has. */
  readonly here: () => readonly Pick<Measured, "id">[];
  /** Other processes of the same store count too. */
  readonly isShared: boolean;
  readonly spentSince: (time: number, isKnown: (id: string) => boolean) => AsyncIterable<SessionCost>;
}) {
  const { clock, here } = deps;
  const dollars = createCounts();
  /** What each session had cost when it was last heard of. */
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
    // What a session cost before it was loaded was spent at another time; where others may have spent it today, its log says so.
    if (before === undefined && usd > 0 && deps.isShared) return;
    // A summary may be older than what its session said.
    if (before !== undefined && usd <= before) return;
    costs.set(sessionId, usd);
    if (before !== undefined) today().add(owner, usd - before);
  };
  return {
    /** Dollars since midnight. */
    of: (owner: string | undefined) => today().of(owner),
    /** A session has cost so much so far. */
    spent,
    forget: (sessionId: string) => void costs.delete(sessionId),
    /** Reads what sessions have cost that were not heard of. */
    async count(): Promise<void> {
      today();
      const before = new Set(here().map(({ id }) => id));
      const seen = new Set<string>();
      for await (const { id, owner, usd, since } of deps.spentSince(day * DAY_MS, (one) => costs.has(one))) {
        seen.add(id);
        if (since !== null) {
          today().add(owner, since);
          costs.set(id, usd);
          // Those that are loaded here say themselves what they cost.
        } else if (!before.has(id)) spent(owner, id, usd);
      }
      // Counted now: a session that was made meanwhile is in none of the lists before.
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
