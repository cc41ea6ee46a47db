/** Sessions and their records as rows. */
import {
  describeHolder,
  type Entry,
  type EventBody,
  type ListedSession,
  StoreError,
  type SummaryForm,
  sessionPrefix,
  sessionTime,
} from "@chimera/event-store";
import {
  type Backend,
  batches,
  encodeLines,
  type Held,
  type Import,
  lineTs,
  pageOf,
  ReplayedEntry,
} from "@chimera/event-store/backend";
import { createAppender } from "./append.js";
import { arrayOf, type Connections, type Sql } from "./connect.js";
import type { Following } from "./follow.js";
import { elsewhere } from "./inbox.js";
import type { Lease } from "./lease.js";
import { columnsOf, listRows } from "./list.js";

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

/** The rows and characters of one read; a larger record is read alone. */
const PAGE_ROWS = 1000;
const PAGE_CHARS = 512 * 1024;

export function createBackend<E extends EventBody, S extends object>(deps: BackendDeps<E, S>): Backend<E, S> {
  const { connections, lease, following, host, form } = deps;
  const { writes } = connections;
  const { sql } = connections.reads;
  const appender = createAppender(writes.sql, following.hint);
  /** Sessions that this node is claiming now. The database lets a node claim its own session again, so a second claim is refused here. */
  const claiming = new Set<string>();

  const alone = async <T>(sid: string, work: () => Promise<T>): Promise<T> => {
    if (claiming.has(sid) || lease.holds(sid)) throw new StoreError("claimed", `session ${sid} is open already`);
    claiming.add(sid);
    try {
      await lease.begin();
      return await work();
    } finally {
      claiming.delete(sid);
    }
  };

  /** The last summary write under way, by session. The next write waits for it, because statements on two connections may overtake each other. */
  const summarizing = new Map<string, Promise<void>>();
  const updateSummary = async (sid: string, summary: S): Promise<void> => {
    const { cwd, model, state, prompted, closed, person, shared, text } = columnsOf(summary);
    const rows = await writes.sql`
      UPDATE chimera.session SET summary = ${text}, touched = extract(epoch FROM clock_timestamp()) * 1000,
        cwd = ${cwd}, model = ${model}, state = ${state}, prompted = ${prompted}, closed = ${closed},
        person = ${person}, shared = ${shared}
      WHERE sid = ${sid} RETURNING sid`;
    if (rows.length === 0) throw new StoreError("not_found", `no session ${sid}`);
  };
  const hold = (sid: string, fence: number, lastSeq: number, lastTs: string): Held => {
    const lost = lease.hold(sid, fence);
    let base = lastSeq;
    return {
      lastSeq,
      durableSeq: lastSeq,
      lastTs,
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

  const shaped = (sid: string, text: string): S => {
    const stored = JSON.parse(text) as S;
    return form === undefined ? stored : form.read(sid, stored);
  };

  /** Inserts the row of a session. StoreError `exists` when there is one. */
  const insert = async (sql: Sql, sid: string, summary: S, lastSeq: number, owner: string | null): Promise<void> => {
    const { cwd, model, state, prompted, closed, person, shared, key, text } = columnsOf(summary);
    const created = sessionTime(sid);
    const rows = await sql`
      INSERT INTO chimera.session(sid, last_seq, fence, owner, host, summary, prefix, created, touched, cwd, model, state, prompted, closed,
        person, shared, key, claimed)
      VALUES (${sid}, ${lastSeq}, 1, ${owner}, ${host}, ${text}, ${sessionPrefix(sid)},
        ${Number.isNaN(created) ? null : created}, extract(epoch FROM clock_timestamp()) * 1000,
        ${cwd}, ${model}, ${state}, ${prompted}, ${closed}, ${person}, ${shared}, ${key}, clock_timestamp())
      ON CONFLICT (sid) DO NOTHING RETURNING sid`;
    if (rows.length === 0) throw new StoreError("exists", `session ${sid} exists`);
  };

  /** The error for a session that this node cannot claim: it is gone, a live node holds it, or its files are on another host. */
  const refusal = async (sid: string): Promise<StoreError> => {
    const [row] = await sql<HolderRow>`
      SELECT s.host, n.node, n.pid, n.program, n.host AS there, s.claimed FROM chimera.session s
      LEFT JOIN chimera.node n ON n.node = s.owner AND n.lease_until > clock_timestamp() WHERE s.sid = ${sid}`;
    if (row === undefined) return new StoreError("not_found", `no session ${sid}`);
    const { node, pid, there, program, claimed } = row;
    if (node === null && row.host !== host) return elsewhere(sid, row.host);
    const holder = {
      ...{ instance: String(node), pid, host: there, start: null, boot: null, pidns: null },
      ...(program !== null && { program }),
      ...(claimed !== null && { since: claimed.toISOString() }),
    };
    return new StoreError("claimed", `session ${sid} is open in ${describeHolder(holder)}`, { holder });
  };

  return {
    async create(sid, summary) {
      await lease.begin();
      await insert(writes.sql, sid, summary, 0, lease.node);
      return hold(sid, 1, 0, "");
    },
    claim: (sid) =>
      alone(sid, async () => {
        const where = deps.adopted.has(sid) ? null : host;
        const [row] = await writes.sql<{ fence: number; last: number; line: string | null }>`
          UPDATE chimera.session s SET owner = ${lease.node}, fence = fence + 1, claimed = clock_timestamp()
          WHERE sid = ${sid} AND (${where}::text IS NULL OR host = ${where}) AND (owner IS NULL OR owner = ${lease.node} OR NOT EXISTS (
            SELECT 1 FROM chimera.node n WHERE n.node = s.owner AND n.lease_until > clock_timestamp()))
          RETURNING fence::float8 AS fence, last_seq::float8 AS last, (
            SELECT e.line FROM chimera.event e WHERE e.sid = s.sid ORDER BY e.seq DESC LIMIT 1) AS line`;
        if (row === undefined) throw await refusal(sid);
        return hold(sid, row.fence, row.last, lineTs(row.line ?? ""));
      }),
    async copy(from, to, { upTo, summary, added }) {
      await lease.begin();
      const made = await writes.begin(async (tx) => {
        const last = Math.min(upTo, await headOf(tx, from));
        await insert(tx, to, summary, last, lease.node);
        await tx`
          INSERT INTO chimera.event(sid, seq, line)
          SELECT ${to}, seq, line FROM chimera.event WHERE sid = ${from} AND seq <= ${last}`;
        const [end] = await tx<{
          line: string;
        }>`SELECT line FROM chimera.event WHERE sid = ${to} ORDER BY seq DESC LIMIT 1`;
        const lastTs = lineTs(end?.line ?? "");
        const own = added(last, lastTs);
        if (own.length > 0) await insertRecords(tx, to, own);
        await tx`UPDATE chimera.session SET last_seq = ${last + own.length} WHERE sid = ${to}`;
        return { last: last + own.length, lastTs: own.length > 0 ? lineTs(own.at(-1)!.line) : lastTs };
      });
      return hold(to, 1, made.last, made.lastTs);
    },
    async importLog(sid, log) {
      const isReplaced = await writes.begin((tx) => writeImport(tx, sid, log));
      following.hint(sid, isReplaced ? 0 : 1);
    },
    async has(sid) {
      return (await sql`SELECT 1 FROM chimera.session WHERE sid = ${sid}`).length > 0;
    },
    head: (sid) => headOf(sql, sid),
    async read(sid, { from, to, isOver }, take) {
      const end = Math.min(to, await headOf(sql, sid));
      for (let cursor = from; cursor < end; ) {
        const lines = await readPage(sql, sid, cursor, end);
        const first = lines[0]?.seq ?? end + 1;
        // A copy of a damaged log has gaps where records were lost.
        if (first > cursor + 1 && !isOver?.())
          await take([{ type: "lost", seq: cursor + 1, last: first - 1, reason: "missing" }]);
        for (const batch of batches(contiguous<E>(lines))) {
          if (isOver?.()) return;
          await take(batch);
        }
        cursor = Math.max(first - 1, lines.at(-1)?.seq ?? end);
      }
    },
    watch: following.watch,
    async readSummary(sid) {
      const [row] = await sql<{ summary: string }>`SELECT summary FROM chimera.session WHERE sid = ${sid}`;
      return row === undefined ? null : shaped(sid, row.summary);
    },
    async writeSummary(sid, summary) {
      const before = summarizing.get(sid);
      const mine = (async () => {
        await before?.catch(() => {});
        await updateSummary(sid, summary);
      })();
      summarizing.set(sid, mine);
      await mine.finally(() => summarizing.get(sid) === mine && summarizing.delete(sid));
    },
    async list(options) {
      const rows = await listRows(sql, options);
      const found = new Map<string, ListedSession<S>>();
      for (const { sid, ...row } of rows) {
        try {
          const summary = shaped(sid, row.summary);
          // The summary of a node that died during a turn still says that the turn runs.
          const shown = row.held ? summary : (form?.unheld(summary) ?? summary);
          found.set(sid, { id: sid, summary: shown, touched: row.touched });
        } catch {
          options.onUnreadable?.(sid);
        }
      }
      const ids = new Set([...found.keys(), ...(options.known?.keys() ?? [])]);
      const touched = (id: string): number | null => found.get(id)?.touched ?? null;
      return pageOf(ids, { touched, row: (id) => found.get(id) ?? null }, options);
    },
    async remove(sid) {
      const isFree = await writes.begin(async (tx) => {
        await tx`
          DELETE FROM chimera.session s WHERE sid = ${sid} AND (owner = ${lease.node} OR NOT EXISTS (
            SELECT 1 FROM chimera.node n WHERE n.node = s.owner AND n.lease_until > clock_timestamp()))`;
        const left = await tx`SELECT 1 FROM chimera.session WHERE sid = ${sid}`;
        // A statement of its own also sees records that an append committed while the first one waited for the row.
        if (left.length === 0) await tx`DELETE FROM chimera.event WHERE sid = ${sid}`;
        return left.length === 0;
      });
      if (!isFree) throw await refusal(sid);
      lease.forget(sid);
      following.hint(sid, 0);
    },
    async close() {},
  };

  async function writeImport(
    tx: Sql,
    sid: string,
    { summary, batches: given, onReplace }: Import<E, S>,
  ): Promise<boolean> {
    const [before] = await tx<{ held: boolean }>`
      SELECT EXISTS (SELECT 1 FROM chimera.node n WHERE n.node = s.owner AND n.lease_until > clock_timestamp()) AS held
      FROM chimera.session s WHERE sid = ${sid} FOR UPDATE OF s`;
    if (before !== undefined && onReplace === null) throw new StoreError("exists", `session ${sid} exists`);
    if (before?.held === true || lease.holds(sid)) throw new StoreError("claimed", `session ${sid} is open`);
    if (before !== undefined) {
      await tx`DELETE FROM chimera.session WHERE sid = ${sid}`;
      await tx`DELETE FROM chimera.event WHERE sid = ${sid}`;
    }
    await insert(tx, sid, summary, 0, null);
    let [last, lastTs] = [0, ""];
    for await (const batch of given) {
      await insertRecords(tx, sid, batch);
      const end = batch[batch.length - 1]!;
      [last, lastTs] = [end.seq, lineTs(end.line)];
    }
    // The session was last written when its last record was, not now.
    const touched = Date.parse(lastTs);
    await tx`
      UPDATE chimera.session SET last_seq = ${last}, touched = coalesce(${Number.isNaN(touched) ? null : touched}, touched)
      WHERE sid = ${sid}`;
    onReplace?.();
    return before !== undefined;
  }
}

// --- internal ---

async function headOf(sql: Sql, sid: string): Promise<number> {
  const [row] = await sql<{ last: number }>`SELECT last_seq::float8 AS last FROM chimera.session WHERE sid = ${sid}`;
  if (row === undefined) throw new StoreError("not_found", `no session ${sid}`);
  return row.last;
}

/** The host of a session's files, and the node that holds it. A node of an older version gives neither its program nor the time. */
interface HolderRow {
  readonly host: string;
  readonly node: string | null;
  readonly pid: number;
  readonly there: string;
  readonly program: string | null;
  readonly claimed: Date | null;
}

async function insertRecords(tx: Sql, sid: string, batch: readonly Entry<EventBody>[]): Promise<void> {
  const lines = encodeLines(batch).toString("utf8").slice(0, -1);
  await tx`
    INSERT INTO chimera.event(sid, seq, line)
    SELECT ${sid}, x.seq, x.line FROM ROWS FROM (
      string_to_table(${lines}, E'\n'), unnest(${arrayOf(batch.map((entry) => entry.seq))}::int8[])) AS x(line, seq)`;
}

interface Line {
  readonly seq: number;
  readonly line: string;
}

function readPage(sql: Sql, sid: string, from: number, to: number): Promise<Line[]> {
  return sql<Line>`
    SELECT seq::float8 AS seq, line FROM (
      SELECT seq, line, sum(length(line)) OVER (ORDER BY seq) - length(line) AS before FROM (
        SELECT seq, line FROM chimera.event WHERE sid = ${sid} AND seq > ${from} AND seq <= ${to}
        ORDER BY seq LIMIT ${PAGE_ROWS}) AS page) AS sized
    WHERE before < ${PAGE_CHARS} ORDER BY seq`;
}

/** The records up to the first gap; the next read begins with the gap. */
function* contiguous<E extends EventBody>(lines: readonly Line[]): Generator<ReplayedEntry<E>> {
  let next = lines[0]?.seq ?? 0;
  for (const { seq, line } of lines) {
    if (seq !== next) return;
    next += 1;
    yield new ReplayedEntry<E>(seq, line);
  }
}
