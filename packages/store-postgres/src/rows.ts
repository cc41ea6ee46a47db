/** The statements that write and read the rows of sessions and their records. */
import {
  describeHolder,
  type Entry,
  type EventBody,
  LIMITS,
  StoreError,
  sessionPrefix,
  sessionTime,
} from "@chimera/event-store";
import {
  batches,
  type Copy,
  encodeLines,
  type Held,
  type Import,
  lineTs,
  type Replay,
  ReplayedEntry,
} from "@chimera/event-store/backend";
import { arrayOf, type Sql } from "./connect.js";
import { elsewhere } from "./inbox.js";
import { holder, isHeld } from "./lease.js";
import { columnsOf } from "./list.js";

/** Where the log of a session ends, and which log it is. */
export type LogEnd = Pick<Held, "lastSeq" | "lastTs"> & { readonly origin: string };

/** Where a session is made. */
export interface Place {
  /** The name of the host that has its files. */
  readonly host: string;
  /** The node that holds it; null for an imported session, which nobody holds yet. */
  readonly owner: string | null;
  /** The number of its last record. @defaultValue 0 */
  readonly lastSeq?: number;
}

/**
 * Inserts the row of a session, and returns its origin. StoreError `exists` if there is a session with this id, and `key_taken` if the same
 * request has made a session already. An imported session does not check the latter.
 */
export async function insertSession(sql: Sql, sid: string, summary: object, place: Place): Promise<string> {
  const { host, owner, lastSeq = 0 } = place;
  const { cwd, model, state, prompted, closed, person, shared, key, request, text } = columnsOf(summary);
  const keyed = key !== null && request !== null && owner !== null;
  const prefix = sessionPrefix(sid);
  const time = sessionTime(sid);
  const created = Number.isNaN(time) ? null : time;
  const insert = () => sql<{ origin: string }>`
    INSERT INTO chimera.session(sid, last_seq, fence, owner, host, summary, prefix, created, touched, cwd, model, state, prompted, closed,
      person, shared, key, keyed, claimed)
    VALUES (${sid}, ${lastSeq}, 1, ${owner}, ${host}, ${text}, ${prefix}, ${created}, extract(epoch FROM clock_timestamp()) * 1000,
      ${cwd}, ${model}, ${state}, ${prompted}, ${closed}, ${person}, ${shared}, ${key}, ${keyed}, clock_timestamp())
    ON CONFLICT DO NOTHING RETURNING origin`;
  // After a day, another session may have the key.
  const freeKey = () => sql`
    UPDATE chimera.session SET keyed = false
    WHERE keyed AND NOT closed AND prefix = ${prefix} AND person IS NOT DISTINCT FROM ${person} AND key = ${key}
      AND coalesce(created, touched) <= ${created}::float8 - ${LIMITS.keyMs} RETURNING sid`;
  let [made] = await insert();
  if (!made && keyed && (await freeKey()).length > 0) [made] = await insert();
  if (made) return made.origin;
  await requireAbsent(sql, sid);
  throw new StoreError("key_taken", `the request that makes session ${sid} has made another one`);
}

export async function updateSummary(sql: Sql, sid: string, summary: object): Promise<void> {
  const { cwd, model, state, prompted, closed, person, shared, text } = columnsOf(summary);
  const rows = await sql`
    UPDATE chimera.session SET summary = ${text}, touched = extract(epoch FROM clock_timestamp()) * 1000,
      cwd = ${cwd}, model = ${model}, state = ${state}, prompted = ${prompted}, closed = ${closed},
      person = ${person}, shared = ${shared}
    WHERE sid = ${sid} RETURNING sid`;
  if (rows.length === 0) throw new StoreError("not_found", `no session ${sid}`);
}

/** Copies a session inside a transaction. Returns where the copy ends. */
export async function copySession<E extends EventBody, S extends object>(
  tx: Sql,
  from: string,
  to: string,
  { upTo, summary, added, ...place }: Copy<E, S> & Place,
): Promise<LogEnd> {
  const last = Math.min(upTo, await headOf(tx, from));
  await requireAbsent(tx, to);
  await tx`
    INSERT INTO chimera.event(sid, seq, line)
    SELECT ${to}, seq, line FROM chimera.event WHERE sid = ${from} AND seq <= ${last}`;
  const [end] = await tx<{ line: string }>`
    SELECT line FROM chimera.event WHERE sid = ${to} ORDER BY seq DESC LIMIT 1`;
  const own = added(last, lineTs(end?.line ?? ""));
  if (own.length > 0) await insertRecords(tx, to, own);
  const lastSeq = last + own.length;
  // Inserted last: a concurrent request with the same key waits from then on for this transaction, and occupies one of few connections.
  const origin = await insertSession(tx, to, summary, { ...place, lastSeq });
  return { origin, lastSeq, lastTs: lineTs((own.at(-1) ?? end)?.line ?? "") };
}

/** Makes a session of records inside a transaction. Returns whether it replaced one, which must not be open here. */
export async function importSession<E extends EventBody, S extends object>(
  tx: Sql,
  sid: string,
  {
    summary,
    batches: given,
    onReplace,
    host,
    isOpen,
  }: Import<E, S> & { readonly host: string; readonly isOpen: boolean },
): Promise<boolean> {
  const [before] = await tx<{ held: boolean }>`
    SELECT ${isHeld} AS held FROM chimera.session s WHERE sid = ${sid} FOR UPDATE OF s`;
  if (before !== undefined && onReplace === null) throw new StoreError("exists", `session ${sid} exists`);
  if (before?.held === true || isOpen) throw new StoreError("claimed", `session ${sid} is open`);
  if (before !== undefined) {
    await tx`DELETE FROM chimera.session WHERE sid = ${sid}`;
    await tx`DELETE FROM chimera.event WHERE sid = ${sid}`;
  }
  await insertSession(tx, sid, summary, { host, owner: null });
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

/** The number of a session's last record. */
export async function headOf(sql: Sql, sid: string): Promise<number> {
  const [row] = await sql<{ last: number }>`SELECT last_seq::float8 AS last FROM chimera.session WHERE sid = ${sid}`;
  if (row === undefined) throw new StoreError("not_found", `no session ${sid}`);
  return row.last;
}

/** Hands over the records of a session in order. A copy of a damaged log has gaps where records were lost. */
export function replayOf<E extends EventBody>(sql: Sql, sid: string): Replay<E> {
  return async ({ from, to, isOver }, take) => {
    const end = Math.min(to, await headOf(sql, sid));
    for (let cursor = from; cursor < end; ) {
      const lines = await readPage(sql, sid, cursor, end);
      const first = lines[0]?.seq ?? end + 1;
      if (first > cursor + 1 && !isOver?.())
        await take([{ type: "lost", seq: cursor + 1, last: first - 1, reason: "missing" }]);
      for (const batch of batches(contiguous<E>(lines))) {
        if (isOver?.()) return;
        await take(batch);
      }
      cursor = Math.max(first - 1, lines.at(-1)?.seq ?? end);
    }
  };
}

/** The error for a session that a node of this host cannot claim: it is gone, a live node holds it, or its files are on another host. */
export async function refusalOf(sql: Sql, sid: string, host: string): Promise<StoreError> {
  const [row] = await sql<HolderRow>`
    SELECT s.host, n.node, n.pid, n.program, n.host AS there, s.claimed
    FROM chimera.session s LEFT JOIN ${holder} WHERE s.sid = ${sid}`;
  if (row === undefined) return new StoreError("not_found", `no session ${sid}`);
  const { node, pid, there, program, claimed } = row;
  if (node === null && row.host !== host) return elsewhere(sid, row.host);
  const known = {
    ...{ instance: String(node), pid, host: there, start: null, boot: null, pidns: null },
    ...(program !== null && { program }),
    ...(claimed !== null && { since: claimed.toISOString() }),
  };
  return new StoreError("claimed", `session ${sid} is open in ${describeHolder(known)}`, { holder: known });
}

// --- internal ---

async function requireAbsent(sql: Sql, sid: string): Promise<void> {
  const same = await sql`SELECT 1 FROM chimera.session WHERE sid = ${sid}`;
  if (same.length > 0) throw new StoreError("exists", `session ${sid} exists`);
}

/** The rows and characters of one read; a larger record is read alone. */
const PAGE_ROWS = 1000;
const PAGE_CHARS = 512 * 1024;

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
