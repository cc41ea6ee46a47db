/**
 * Appends the records of all sessions of this process, one statement at a time. Appends that arrive during a statement go into the next
 * one, so that one commit serves every waiting caller. A statement writes a session's records only while the session's fence and last
 * number are those its writer knows, so it can be sent again after a lost reply without writing twice.
 */
import { setTimeout as pause } from "node:timers/promises";
import { backoff } from "@chimera/acp-schema/timer";
import { StoreError } from "@chimera/event-store";
import { arrayOf, isUnsure, type Sql } from "./connect.js";

export interface Append {
  readonly sid: string;
  readonly fence: number;
  /** The number of the last record before these. */
  readonly base: number;
  readonly count: number;
  /** One line per record, with a line feed between two. */
  readonly lines: string;
  /** Aborted when this process may no longer write the session. */
  readonly lost: AbortSignal;
}

interface Waiting extends Append {
  resolve(): void;
  reject(error: StoreError): void;
}

/** Characters of lines in one statement, unless one append is larger. */
const STATEMENT = 4 * 1024 * 1024;
const SLOWEST_RETRY_MS = 1000;

/** @param onAppended is called with each session whose records were committed. */
export function createAppender(sql: Sql, onAppended: (sid: string, seq: number) => void) {
  let waiting: Waiting[] = [];
  let isRunning = false;

  const takeSome = (): Waiting[] => {
    let size = 0;
    const over = waiting.findIndex((one, at) => {
      size += one.lines.length;
      return at > 0 && size > STATEMENT;
    });
    const taken = over < 0 ? waiting : waiting.slice(0, over);
    waiting = waiting.slice(taken.length);
    return taken;
  };

  const settle = (one: Waiting): void => {
    onAppended(one.sid, one.base + one.count);
    one.resolve();
  };

  /** Sends a group of appends until it is known of each whether it was written. */
  const send = async (group: Waiting[]): Promise<void> => {
    let left = group;
    for (let attempt = 0; left.length > 0; attempt++) {
      for (const one of left) if (one.lost.aborted) one.reject(fenced(one.sid));
      left = left.filter((one) => !one.lost.aborted);
      if (left.length === 0) return;
      try {
        const written = await insert(sql, left);
        for (const one of left) if (written.has(one.sid)) settle(one);
        left = left.filter((one) => !written.has(one.sid));
        if (left.length > 0) left = await reconcile(left);
      } catch (error) {
        if (!isUnsure(error)) {
          for (const one of left) one.reject(error as StoreError);
          return;
        }
        await pause(backoff(attempt, 20, SLOWEST_RETRY_MS));
      }
    }
  };

  /** Finds out why a statement did not write some appends: an earlier one whose reply was lost wrote them, or another node has the session. */
  const reconcile = async (group: Waiting[]): Promise<Waiting[]> => {
    const rows = await sql<{ sid: string; last: number; fence: number }>`
      SELECT sid, last_seq::float8 AS last, fence::float8 AS fence FROM chimera.session
      WHERE sid = ANY(${arrayOf(group.map((one) => one.sid))}::text[])`;
    const heads = new Map(rows.map((row) => [row.sid, row]));
    return group.filter((one) => {
      const head = heads.get(one.sid);
      if (head?.fence === one.fence && head.last === one.base) return true;
      // No other writer has this fence, so the records up to this number are these.
      if (head?.fence === one.fence && head.last === one.base + one.count) settle(one);
      else one.reject(fenced(one.sid));
      return false;
    });
  };

  const run = async (): Promise<void> => {
    while (waiting.length > 0) await send(takeSome());
    isRunning = false;
  };

  return {
    /** Resolves when the records are committed. StoreError `fenced` when another node has the session, else `io`, `storage_full`. */
    append: (records: Append) =>
      new Promise<void>((resolve, reject) => {
        waiting.push({ ...records, resolve, reject });
        if (isRunning) return;
        isRunning = true;
        // Wait for the other sessions that append in the same turn of the loop, so that they share the statement.
        queueMicrotask(() => void run());
      }),
  };
}

// --- internal ---

function fenced(sid: string): StoreError {
  return new StoreError("fenced", `session ${sid} was taken over by another node`);
}

/** Writes the appends and returns the written sessions. It locks rows in the order of their ids, so that statements cannot deadlock. */
async function insert(sql: Sql, group: readonly Append[]): Promise<Set<string>> {
  const indexes: number[] = [];
  const ordinals: number[] = [];
  for (const [index, { count }] of group.entries())
    for (let i = 1; i <= count; i++) {
      indexes.push(index + 1);
      ordinals.push(i);
    }
  const rows = await sql<{ sid: string }>`
    WITH asked AS (
      SELECT * FROM unnest(${arrayOf(group.map((one) => one.sid))}::text[], ${arrayOf(group.map((one) => one.base))}::int8[],
        ${arrayOf(group.map((one) => one.fence))}::int8[], ${arrayOf(group.map((one) => one.count))}::int4[])
        WITH ORDINALITY AS a(sid, base, fence, n, i)
    ), locked AS (
      SELECT s.sid, a.base, a.n, a.i FROM chimera.session s JOIN asked a USING (sid)
      WHERE s.last_seq = a.base AND s.fence = a.fence ORDER BY s.sid FOR UPDATE OF s
    ), head AS (
      UPDATE chimera.session s SET last_seq = l.base + l.n, touched = extract(epoch FROM clock_timestamp()) * 1000
      FROM locked l WHERE s.sid = l.sid AND s.last_seq = l.base RETURNING s.sid, l.base, l.i
    ), put AS (
      INSERT INTO chimera.event(sid, seq, line) SELECT h.sid, h.base + x.o, x.line
      FROM ROWS FROM (string_to_table(${group.map((one) => one.lines).join("\n")}, E'\n'),
        unnest(${arrayOf(indexes)}::int8[]), unnest(${arrayOf(ordinals)}::int8[])) AS x(line, i, o)
      JOIN head h USING (i)
    )
    SELECT sid FROM head`;
  return new Set(rows.map((row) => row.sid));
}
