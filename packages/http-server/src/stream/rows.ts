/** Reports changed rows of the list to every stream that shows it. All streams share one watch. */
import { isLost } from "@chimera/acp-schema/events";
import type { SessionRow } from "@chimera/acp-schema/http";
import { changesSummary, type OwnedSession, type Sessions } from "@chimera/session";
import { LIMITS } from "../limits.js";
import { liveRow, storedRow } from "../session-list.js";

/** Called with the id of a session whose row changed. `row` makes the row when it is sent: null if the session is gone. */
export type OnRow = (id: string, row: () => SessionRow | null) => void;

export type RowWatch = ReturnType<typeof createRowWatch>;

/** The loaded sessions of everybody. They are watched also while a person may not see them: each may be shared with the person. */
export type Everybody = Pick<Sessions, "find" | "live" | "onLoad" | "logs">;

/**
 * Reports a change by this process at once, and a change by another process within seconds. The latter are found by comparing the first rows
 * of the list, because a session that changes moves to its beginning.
 *
 * @param sessions those that the readers may see
 * @param held the sessions that any node of a shared store holds
 */
export function createRowWatch(sessions: Sessions, everybody: Everybody, held?: () => Promise<ReadonlySet<string>>) {
  const listeners = new Set<OnRow>();
  let ends: (() => void)[] = [];
  const report: OnRow = (id, row) => {
    for (const listener of listeners) listener(id, row);
  };
  const begin = () => [
    watchLoaded(sessions, everybody, report),
    watchOthers(sessions, report, held),
    sessions.onRemove((id) => report(id, () => null)),
  ];
  return (listener: OnRow): (() => void) => {
    listeners.add(listener);
    if (ends.length === 0) ends = begin();
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      for (const end of ends.splice(0)) end();
    };
  };
}

// --- internal ---

/** Reports the row of a loaded session when a record changes it, and when the session is loaded or unloaded; null once it is hidden. */
function watchLoaded(sessions: Sessions, everybody: Everybody, report: OnRow): () => void {
  const ends = new Set<() => void>();
  let isOver = false;
  const watch = (session: OwnedSession, wasShown: boolean) => {
    const { id, lastSeq } = session;
    let isShown = wasShown;
    // A session that nobody finds rests, or is unloaded: nothing changes it here.
    const mayShow = () => (everybody.find(id) ? sessions.find(id) !== undefined : isShown);
    const changed = () => {
      const isKnown = isShown;
      isShown = mayShow();
      if (isKnown || isShown) report(id, () => (mayShow() ? liveRow(session) : null));
    };
    const { ended, close } = everybody.logs.follow(id, { from: lastSeq, sleeps: "let go" }, (batch) => {
      if (batch.some((entry) => isLost(entry) || changesSummary(entry.event))) changed();
    });
    ends.add(close);
    // A log that cannot be read does not change a row.
    ended.catch(() => {});
    void session.ended.then(async () => {
      ends.delete(close);
      close();
      const summary = isShown ? await sessions.logs.readSummary(id).catch(() => undefined) : undefined;
      if (summary === undefined || summary?.closed) return;
      const row = summary && (await storedRow(sessions, { id, summary, touched: session.touchedAt }, false));
      if (!isOver && !sessions.find(id)) report(id, () => row);
    });
    return changed;
  };
  const shown = new Set(sessions.live().map(({ id }) => id));
  for (const session of everybody.live()) watch(session, shown.has(session.id));
  ends.add(everybody.onLoad((session) => watch(session, false)()));
  return () => {
    isOver = true;
    for (const end of ends) end();
  };
}

/** Reads the first rows of the list again and again, and reports those that differ and whose session is not loaded here. */
function watchOthers(sessions: Sessions, report: OnRow, held?: () => Promise<ReadonlySet<string>>): () => void {
  let seen: ReadonlyMap<string, string> | null = null;
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const compare = async (): Promise<void> => {
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
      // The first comparison reports nothing: a client reads the list itself when its stream begins.
      if (seen && seen.get(one.id) !== text && !isOver && !sessions.find(one.id)) report(one.id, () => row);
    }
    for (const id of seen?.keys() ?? []) if (!found.has(id) && (await isGone(id))) report(id, () => null);
    seen = found;
  };
  const isGone = async (id: string): Promise<boolean> => {
    if (sessions.find(id)) return false;
    const summary = await sessions.logs.readSummary(id);
    return (summary === null || summary.closed === true) && !isOver;
  };
  const compareAgain = async (): Promise<void> => {
    const began = performance.now();
    // A store that cannot be read now may be readable the next time.
    await compare().catch(() => {});
    if (isOver) return;
    // With many sessions a comparison takes longer, so the pause grows with it: comparing takes at most a fiftieth of the time.
    timer = setTimeout(compareAgain, Math.max(LIMITS.listLookMs, 50 * (performance.now() - began))).unref();
  };
  void compareAgain();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
