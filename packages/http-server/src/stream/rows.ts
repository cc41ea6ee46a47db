/** The rows of the list as they change, for every stream that shows it: one watch, however many streams there are. */
import { isLost } from "@chimera/acp-schema/events";
import type { SessionRow } from "@chimera/acp-schema/http";
import { changesSummary, type OwnedSession, type Sessions } from "@chimera/session";
import { LIMITS } from "../limits.js";
import { liveRow, storedRow } from "../session-list.js";

/** Takes the id of a session and its row as it is when that is sent; null when the session is gone. */
export type TakeRow = (id: string, row: () => SessionRow | null) => void;

export type RowWatch = ReturnType<typeof createRowWatch>;

/**
 * At once where this process changes a session, and within seconds where another one does: those are found by looking at the head of the
 * list, because whatever changes moves there.
 *
 * @param held the sessions that any node holds, where several share a store
 */
export function createRowWatch(sessions: Sessions, held?: () => Promise<ReadonlySet<string>>) {
  const takers = new Set<TakeRow>();
  let end: (() => void) | null = null;
  const take: TakeRow = (id, row) => {
    for (const taker of takers) taker(id, row);
  };
  return (taker: TakeRow): (() => void) => {
    takers.add(taker);
    end ??= begin(sessions, take, held);
    return () => {
      takers.delete(taker);
      if (takers.size > 0) return;
      end?.();
      end = null;
    };
  };
}

// --- internal ---

function begin(sessions: Sessions, take: TakeRow, held?: () => Promise<ReadonlySet<string>>): () => void {
  const ends = new Set([watchLoaded(sessions, take), lookForOthers(sessions, take, held)]);
  ends.add(sessions.onRemove((id) => take(id, () => null)));
  return () => {
    for (const end of ends) end();
  };
}

/** Whenever a record changes the row of a session in memory, and when a session is loaded or unloaded. */
function watchLoaded(sessions: Sessions, take: TakeRow): () => void {
  const ends = new Set<() => void>();
  let isOver = false;
  const watch = (session: OwnedSession) => {
    const { id, lastSeq } = session;
    const changed = () => take(id, () => liveRow(session));
    const { ended, close } = sessions.logs.follow(id, { from: lastSeq, sleeps: "let go" }, (batch) => {
      if (batch.some((entry) => isLost(entry) || changesSummary(entry.event))) changed();
    });
    ends.add(close);
    // A log that cannot be read changes no row.
    ended.catch(() => {});
    void session.ended.then(async () => {
      ends.delete(close);
      close();
      const summary = await sessions.logs.readSummary(id).catch(() => null);
      if (!summary || summary.closed) return;
      const row = await storedRow(sessions, { id, summary, touched: session.touchedAt }, false);
      if (!isOver && !sessions.find(id)) take(id, () => row);
    });
    return changed;
  };
  for (const session of sessions.live()) watch(session);
  ends.add(sessions.onLoad((session) => watch(session)()));
  return () => {
    isOver = true;
    for (const end of ends) end();
  };
}

/** Looks again and again at those of the sessions touched last that are not in memory here, and takes the rows that differ. */
function lookForOthers(sessions: Sessions, take: TakeRow, held?: () => Promise<ReadonlySet<string>>): () => void {
  let seen: ReadonlyMap<string, string> | null = null;
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    const here = new Set(sessions.live().map(({ id }) => id));
    const [{ sessions: listed }, others] = await Promise.all([
      sessions.list({ limit: LIMITS.watchedRows + here.size }),
      held?.(),
    ]);
    const found = new Map<string, string>();
    for (const one of listed) {
      if (here.has(one.id)) continue;
      const row = await storedRow(sessions, one, others?.has(one.id) === true);
      const text = JSON.stringify(row);
      found.set(one.id, text);
      // What the first look finds, the list says: a client reads it when its stream begins.
      if (seen && seen.get(one.id) !== text && !isOver && !sessions.find(one.id)) take(one.id, () => row);
    }
    for (const id of seen?.keys() ?? []) if (!found.has(id) && (await isGone(id))) take(id, () => null);
    seen = found;
  };
  const isGone = async (id: string): Promise<boolean> => {
    if (sessions.find(id)) return false;
    const summary = await sessions.logs.readSummary(id);
    return (summary === null || summary.closed === true) && !isOver;
  };
  const lookAgain = async (): Promise<void> => {
    const began = performance.now();
    // A store that cannot be read now may be readable at the next look.
    await look().catch(() => {});
    if (isOver) return;
    // A look takes longer the more sessions there are; all of them together take a fiftieth of the time at most.
    timer = setTimeout(lookAgain, Math.max(LIMITS.listLookMs, 50 * (performance.now() - began))).unref();
  };
  void lookAgain();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
