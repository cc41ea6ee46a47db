/**
 * What one node asks of another: a row, taken once by the node it is for, and answered in the same row. A request is done once or not at
 * all: the node takes it before it begins, and a request that its node did not take before it died is sent to the next one.
 */
import { setTimeout as pause } from "node:timers/promises";
import { StoreError } from "@chimera/event-store";
import { arrayOf, type Connections } from "./connect.js";
import type { Lease } from "./lease.js";

export interface Inbox {
  /**
   * Hands a request to the node that has the session, or that could have it, and resolves with its answer. Null: this node may do it.
   * StoreError `elsewhere` when no node has the session's files, `outcome_unknown` when the node died while it did this.
   */
  ask(sid: string, request: string): Promise<string | null>;
  /** Does what other nodes ask of this one, from now on. */
  serve(handle: (request: string) => Promise<string>): Promise<void>;
  /** Takes no more requests; resolves when those under way are answered. */
  close(): Promise<void>;
}

const CHANNEL = "chimera_inbox";
const LOOK_MS = 500;
const AT_ONCE = 64;

/** Who could do what is asked of a session. */
interface Route {
  readonly host: string;
  readonly owner: string | null;
  readonly serves: boolean | null;
  readonly other: string | null;
}

interface Outcome {
  readonly reply: string | null;
  /** Whether the node that was asked had begun. */
  readonly isTaken: boolean;
}

export function createInbox({ reads, signs, listener }: Connections, lease: Lease, host: string): Inbox {
  const { node } = lease;
  const waiting = new Map<number, (outcome: Outcome) => void>();
  const underWay = new Set<Promise<void>>();
  let handle: ((request: string) => Promise<string>) | null = null;
  let isLooking = false;
  let isDue = false;
  let listening: Promise<unknown> | null = null;
  let timer: NodeJS.Timeout | undefined;

  const listen = async (): Promise<void> => {
    listening ??= listener.listen(
      CHANNEL,
      (named) => named === node && void look(),
      () => void look(),
    );
    timer ??= setInterval(() => void look(), LOOK_MS).unref();
    await listening;
  };
  const notify = (to: string) => signs.sql`SELECT pg_notify(${CHANNEL}, ${to})`;

  const answer = async (id: number, from: string, request: string): Promise<void> => {
    const reply = await handle?.(request);
    for (let attempt = 0; attempt < 50; attempt++) {
      try {
        await signs.sql`UPDATE chimera.inbox SET reply = ${reply ?? ""} WHERE id = ${id}`;
        await notify(from);
        return;
      } catch {
        await pause(100);
      }
    }
  };
  const takeRequests = async (): Promise<void> => {
    if (handle === null || underWay.size >= AT_ONCE) return;
    const rows = await signs.sql<{ id: number; from: string; request: string }>`
      UPDATE chimera.inbox SET taken = clock_timestamp() WHERE taken IS NULL AND id IN (
        SELECT id FROM chimera.inbox WHERE to_node = ${node} AND taken IS NULL ORDER BY id LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED)
      RETURNING id::float8 AS id, from_node AS from, request`;
    for (const { id, from, request } of rows.sort((a, b) => a.id - b.id)) {
      const work = answer(id, from, request).finally(() => underWay.delete(work));
      underWay.add(work);
    }
  };
  /** Replies, and requests whose node is dead. */
  const takeReplies = async (): Promise<void> => {
    if (waiting.size === 0) return;
    const rows = await reads.sql<{ id: number; reply: string | null; taken: boolean }>`
      SELECT i.id::float8 AS id, i.reply, i.taken IS NOT NULL AS taken FROM chimera.inbox i
      WHERE i.id = ANY(${arrayOf([...waiting.keys()])}::int8[]) AND (i.reply IS NOT NULL OR NOT EXISTS (
        SELECT 1 FROM chimera.node n WHERE n.node = i.to_node AND n.lease_until > clock_timestamp()))`;
    for (const { id, reply, taken } of rows) {
      // One that nobody has begun is taken back, unless its node begins just now.
      const [gone] = await signs.sql`
        DELETE FROM chimera.inbox WHERE id = ${id} AND (reply IS NOT NULL OR (taken IS NOT NULL) = ${taken}) RETURNING id`;
      if (gone === undefined) continue;
      waiting.get(id)?.({ reply, isTaken: taken });
      waiting.delete(id);
    }
  };
  const look = async (): Promise<void> => {
    isDue = true;
    if (isLooking) return;
    isLooking = true;
    while (isDue) {
      isDue = false;
      // The database is away: the next look is half a second later.
      await Promise.all([takeRequests(), takeReplies()]).catch(() => {});
    }
    isLooking = false;
  };

  /** The node that has to do what is asked of a session; null: this one. */
  const route = async (sid: string): Promise<string | null> => {
    const [row] = await reads.sql<Route>`
      SELECT s.host, o.node AS owner, o.serves, (
        SELECT n.node FROM chimera.node n WHERE n.host = s.host AND n.serves AND n.lease_until > clock_timestamp() LIMIT 1) AS other
      FROM chimera.session s LEFT JOIN chimera.node o ON o.node = s.owner AND o.lease_until > clock_timestamp()
      WHERE s.sid = ${sid}`;
    if (row === undefined || row.owner === node) return null;
    if (row.owner !== null) return row.serves === true ? row.owner : null;
    if (row.host === host) return null;
    if (row.other !== null) return row.other;
    throw elsewhere(sid, row.host);
  };

  return {
    async ask(sid, request) {
      await lease.begin();
      await listen();
      for (;;) {
        const to = await route(sid);
        if (to === null) return null;
        const [row] = await signs.sql<{ id: number }>`
          INSERT INTO chimera.inbox(sid, from_node, to_node, request) VALUES (${sid}, ${node}, ${to}, ${request})
          RETURNING id::float8 AS id`;
        const outcome = new Promise<Outcome>((resolve) => waiting.set(row!.id, resolve));
        await notify(to);
        const { reply, isTaken } = await outcome;
        if (reply !== null) return reply;
        if (isTaken) {
          const text = `the node that had session ${sid} died while it did this: look at the session before you ask again`;
          throw new StoreError("outcome_unknown", text);
        }
      }
    },
    async serve(handler) {
      handle = handler;
      await lease.begin();
      await signs.sql`UPDATE chimera.node SET serves = true WHERE node = ${node}`;
      // What was asked long ago has nobody left to answer to.
      await signs.sql`DELETE FROM chimera.inbox WHERE sent < clock_timestamp() - interval '1 hour'`;
      await signs.sql`DELETE FROM chimera.node WHERE lease_until < clock_timestamp() - interval '1 hour'`;
      await listen();
    },
    async close() {
      handle = null;
      clearInterval(timer);
      if (listening !== null)
        await signs.sql`UPDATE chimera.node SET serves = false WHERE node = ${node}`.catch(() => {});
      await Promise.all(underWay);
    },
  };
}

/** The files of a session are where no node runs. */
export function elsewhere(sid: string, host: string): StoreError {
  const text = `session ${sid} works on the files of ${host}, where no server runs now: start one there to go on; its history can be read`;
  return new StoreError("elsewhere", text);
}
