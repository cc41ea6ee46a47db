/** Computes from logs and summaries what sessions used before this process started, so that limits survive a restart. */
import { foldConversation } from "@chimera/acp-schema/conversation";
import { isLost, type SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import type { EventStore } from "@chimera/event-store";
import type { Measured, SessionCost } from "./spending.js";

type Store = Pick<EventStore<SessionEvent, Summary>, "list" | "read">;

/** Every stored session of this program, with its owner. */
export async function storedSessions(store: Store, prefix: string): Promise<Measured[]> {
  const { sessions } = await store.list({ prefixes: [prefix] });
  return sessions.map(({ id, summary }) => ({ id, owner: summary.owner }));
}

/** The cost of each session that was written to since the given time. A log that cannot be read is reported and left out. */
export async function* spentSince(
  store: Store,
  prefix: string,
  time: number,
  isKnown: (id: string) => boolean,
  onError: (error: unknown, sessionId: string) => void,
): AsyncGenerator<SessionCost> {
  for (let after: string | null | undefined; after !== null; ) {
    const page = await store.list({ prefixes: [prefix], order: "touched", limit: PAGE, ...(after && { after }) });
    for (const { id, touched, summary } of page.sessions) {
      if (touched < time) return;
      const cost = { usd: summary.cost_usd, since: null };
      const read = isKnown(id) ? cost : await costSince(store, id, time).catch((error: unknown) => onError(error, id));
      if (read) yield { id, owner: summary.owner, ...read };
    }
    after = page.next;
  }
}

// --- internal ---

const PAGE = 500;

/** The cost of a session: in all, and since the given time. The records that a fork copied from its parent do not count as its cost. */
async function costSince(store: Store, id: string, time: number): Promise<Pick<SessionCost, "usd" | "since">> {
  const conversation = foldConversation({ keep: "state" });
  let since = 0;
  for await (const entry of store.read(id)) {
    if (!SAYS_COST.has(entry.type)) continue;
    const before = conversation.facts.usage?.total_usd ?? 0;
    conversation.apply(isLost(entry) ? entry : entry.event);
    if (entry.type === "forked") since = 0;
    const more = (conversation.facts.usage?.total_usd ?? 0) - before;
    if (!isLost(entry) && more > 0 && Date.parse(entry.event.ts) >= time) since += more;
  }
  return { usd: conversation.facts.usage?.total_usd ?? 0, since };
}

/** The types of records with a cost. In older logs the last record of a turn has it. */
const SAYS_COST: ReadonlySet<string> = new Set([
  "user_message",
  "turn_start",
  "usage",
  "agent_result",
  "cancelled",
  "forked",
]);
