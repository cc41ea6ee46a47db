/** The backend of a store: sessions and their records as rows, and the sessions that this node holds. */
import { type EventBody, StoreError, type SummaryForm } from "@chimera/event-store";
import { type Backend, encodeLines, type Held, lineTs } from "@chimera/event-store/backend";
import { createAppender } from "./append.js";
import type { Connections } from "./connect.js";
import type { Following } from "./follow.js";
import { isHeld, type Lease } from "./lease.js";
import { listSessions } from "./list.js";
import {
  copySession,
  headOf,
  importSession,
  insertSession,
  type LogEnd,
  refusalOf,
  replayOf,
  updateSummary,
} from "./rows.js";

export interface BackendDeps<E extends EventBody, S extends object> {
  readonly connections: Connections;
  readonly lease: Lease;
  readonly following: Following<E>;
  /** The name of the host that has the files of this node's sessions. */
  readonly host: string;
  /** Sessions that this node holds only to end their turns, although their files may be on another host. */
  readonly adopted: ReadonlySet<string>;
  readonly form: SummaryForm<E, S> | undefined;
}

export function createBackend<E extends EventBody, S extends object>(deps: BackendDeps<E, S>): Backend<E, S> {
  const { connections, lease, following, host, form } = deps;
  const { writes } = connections;
  const { sql } = connections.reads;
  const { claim, hold } = createHolds(deps);
  /** The last summary write under way, by session. The next write waits for it, because statements on two connections may overtake each other. */
  const summarizing = new Map<string, Promise<void>>();
  const shaped = (sid: string, text: string): S => {
    const stored = JSON.parse(text) as S;
    return form === undefined ? stored : form.read(sid, stored);
  };

  return {
    async create(sid, summary) {
      await lease.begin();
      const origin = await insertSession(writes.sql, sid, summary, { host, owner: lease.node });
      return hold(sid, 1, { origin, lastSeq: 0, lastTs: "" });
    },
    claim,
    async copy(from, to, copied) {
      await lease.begin();
      const end = await writes.begin((tx) => copySession(tx, from, to, { ...copied, host, owner: lease.node }));
      return hold(to, 1, end);
    },
    async importLog(sid, log) {
      const isReplaced = await writes.begin((tx) => importSession(tx, sid, { ...log, host, isOpen: lease.holds(sid) }));
      following.hint(sid, isReplaced ? 0 : 1);
    },
    async has(sid) {
      return (await sql`SELECT 1 FROM chimera.session WHERE sid = ${sid}`).length > 0;
    },
    head: (sid) => headOf(sql, sid),
    read: (sid, range, take) => replayOf<E>(sql, sid)(range, take),
    watch: following.watch,
    async readSummary(sid) {
      const [row] = await sql<{ summary: string }>`SELECT summary FROM chimera.session WHERE sid = ${sid}`;
      return row === undefined ? null : shaped(sid, row.summary);
    },
    async writeSummary(sid, summary) {
      const before = summarizing.get(sid);
      const mine = (async () => {
        await before?.catch(() => {});
        await updateSummary(writes.sql, sid, summary);
      })();
      summarizing.set(sid, mine);
      await mine.finally(() => summarizing.get(sid) === mine && summarizing.delete(sid));
    },
    list: (options) =>
      listSessions(sql, options, {
        shaped,
        unheld: (summary) => form?.unheld(summary) ?? summary,
      }),
    async remove(sid) {
      const isFree = await writes.begin(async (tx) => {
        await tx`DELETE FROM chimera.session s WHERE sid = ${sid} AND (owner = ${lease.node} OR NOT ${isHeld})`;
        const left = await tx`SELECT 1 FROM chimera.session WHERE sid = ${sid}`;
        // A statement of its own also sees records that an append committed while the first one waited for the row.
        if (left.length === 0) await tx`DELETE FROM chimera.event WHERE sid = ${sid}`;
        return left.length === 0;
      });
      if (!isFree) throw await refusalOf(sql, sid, host);
      lease.forget(sid);
      following.hint(sid, 0);
    },
    async close() {},
  };
}

// --- internal ---

/** The sessions that this node holds for writing. */
function createHolds<E extends EventBody, S extends object>(deps: BackendDeps<E, S>) {
  const { connections, lease, following, host, adopted } = deps;
  const { reads, writes } = connections;
  const appender = createAppender(writes.sql, following.hint);
  /** Sessions that this node is claiming now. The database lets a node claim its own session again, so a second claim is refused here. */
  const claiming = new Set<string>();

  const hold = (sid: string, fence: number, end: LogEnd): Held => {
    const lost = lease.hold(sid, fence);
    let base = end.lastSeq;
    return {
      ...end,
      origin: () => end.origin,
      durableSeq: end.lastSeq,
      lost,
      async write(batch) {
        const lines = encodeLines(batch).toString("utf8").slice(0, -1);
        await appender.append({ sid, fence, base, count: batch.length, lines, lost });
        base += batch.length;
        return batch.length;
      },
      release: () => lease.release(sid),
    };
  };

  return {
    hold,
    async claim(sid: string) {
      if (claiming.has(sid) || lease.holds(sid)) throw new StoreError("claimed", `session ${sid} is open already`);
      claiming.add(sid);
      try {
        await lease.begin();
        const where = adopted.has(sid) ? null : host;
        const [row] = await writes.sql<{ fence: number; last: number; line: string | null; origin: string }>`
          UPDATE chimera.session s SET owner = ${lease.node}, fence = fence + 1, claimed = clock_timestamp()
          WHERE sid = ${sid} AND (${where}::text IS NULL OR host = ${where}) AND (owner IS NULL OR owner = ${lease.node} OR NOT ${isHeld})
          RETURNING origin, fence::float8 AS fence, last_seq::float8 AS last, (
            SELECT e.line FROM chimera.event e WHERE e.sid = s.sid ORDER BY e.seq DESC LIMIT 1) AS line`;
        if (row === undefined) throw await refusalOf(reads.sql, sid, host);
        return hold(sid, row.fence, { origin: row.origin, lastSeq: row.last, lastTs: lineTs(row.line ?? "") });
      } finally {
        claiming.delete(sid);
      }
    },
  };
}
