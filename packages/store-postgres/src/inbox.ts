/**
 * Requests from one node to another. A request is a row: its node marks it as taken, does it and writes the reply into the same row. It is
 * done at most once, because the node takes it before it begins. A request that its node had not taken when it died goes to the next node.
 */
import { backoff } from "@chimera/acp-schema/timer";
import { StoreError } from "@chimera/event-store";
import { arrayOf, type Connections, untilKnown } from "./connect.js";
import type { Lease } from "./lease.js";
import { onceMore } from "./listener.js";

export interface Inbox {
  /**
   * Sends a request to the node that holds the session, or that has its files, and resolves with the reply. Null: this node may do it.
   * StoreError `elsewhere` when no live node has the session's files, `outcome_unknown` when the node died after it had taken the request.
   */
  ask(sid: string, request: string): Promise<string | null>;
  /** From now on, handles requests of other nodes for this node's sessions. */
  answer(handle: (request: string) => Promise<string>): Promise<void>;
  /** Marks this node as a server that keeps running: other nodes may ask it for sessions of its host that no node holds. */
  serve(): Promise<void>;
  /** Takes no more requests, and resolves when those under way are answered. */
  close(): Promise<void>;
}

const CHANNEL = "chimera_inbox";
const LOOK_MS = 500;
const AT_ONCE = 64;
/** The longest pause before a failed request is tried again. The first pause is `LOOK_MS`, and each later one twice as long. */
const LONGEST_PAUSE_MS = 60_000;

/** The nodes that could handle a request for a session. */
interface Route {
  readonly host: string;
  readonly owner: string | null;
  readonly answers: boolean | null;
  readonly other: string | null;
}

interface Outcome {
  readonly reply: string | null;
  /** Whether the other node had taken the request. */
  readonly isTaken: boolean;
}

interface Waiting {
  resolve(outcome: Outcome): void;
  /** Set when this node withdraws the request: whether the other node had taken it. */
  isTaken?: boolean;
}

export function createInbox({ reads, signs, listener }: Connections, lease: Lease, host: string): Inbox {
  const { node } = lease;
  const waiting = new Map<number, Waiting>();
  /** Requests that this node has begun and not answered yet, by id. */
  const underWay = new Map<number, Promise<void>>();
  /** Requests whose handler failed, with the time at which each is tried again. */
  const failed = new Map<number, { readonly times: number; readonly until: number }>();
  let handle: ((request: string) => Promise<string>) | null = null;
  let taking: Promise<void> = Promise.resolve();
  let isClosed = false;
  let announcing: Promise<unknown> | null = null;
  let listening: Promise<unknown> | null = null;
  let timer: NodeJS.Timeout | undefined;

  const listen = async (): Promise<void> => {
    listening ??= listener.listen(CHANNEL, (named) => void (named === node && look()), look);
    timer ??= setInterval(look, LOOK_MS).unref();
    await listening;
  };
  const notify = (to: string) => signs.sql`SELECT pg_notify(${CHANNEL}, ${to})`;

  /** Repeats a statement until it is known to be done, or this node ends. */
  const surely = <T>(send: () => Promise<T>): Promise<T> => untilKnown(send, () => isClosed);
  const answer = async (id: number, from: string, reply: string): Promise<void> => {
    await surely(() => signs.sql`UPDATE chimera.inbox SET reply = ${reply} WHERE id = ${id}`);
    await notify(from);
  };
  /** Takes requests without a reply that are not under way. That includes those it took in a statement whose reply was lost. */
  const takeRequests = async (): Promise<void> => {
    const does = handle;
    if (does === null || isClosed || underWay.size >= AT_ONCE) return;
    const due = performance.now();
    const resting = [...failed].filter(([, { until }]) => until > due).map(([id]) => id);
    const notNow = arrayOf([...underWay.keys(), ...resting]);
    const rows = await signs.sql<{ id: number; from: string; request: string }>`
      UPDATE chimera.inbox SET taken = coalesce(taken, clock_timestamp()) WHERE reply IS NULL AND id IN (
        SELECT id FROM chimera.inbox WHERE to_node = ${node} AND reply IS NULL AND NOT id = ANY(${notNow}::int8[])
        ORDER BY id LIMIT ${AT_ONCE} FOR UPDATE)
      RETURNING id::float8 AS id, from_node AS from, request`;
    // A failed request that was due and is not among the rows was withdrawn.
    const come = new Set([...resting, ...underWay.keys(), ...rows.map(({ id }) => id)]);
    for (const id of failed.keys()) if (!come.has(id)) failed.delete(id);
    for (const { id, from, request } of rows.sort((a, b) => a.id - b.id)) {
      const work = Promise.resolve(request)
        .then(does)
        .then((reply) => answer(id, from, reply))
        .catch(() => {
          const before = failed.get(id)?.times ?? 0;
          failed.set(id, { times: before + 1, until: performance.now() + backoff(before, LOOK_MS, LONGEST_PAUSE_MS) });
        })
        .finally(() => underWay.delete(id));
      underWay.set(id, work);
    }
  };
  /** Settles requests of this node that have a reply, and those whose node is dead. */
  const takeReplies = async (): Promise<void> => {
    if (waiting.size === 0) return;
    const ids = [...waiting.keys()];
    const rows = await reads.sql<{ id: number; reply: string | null; taken: boolean; dead: boolean }>`
      SELECT i.id::float8 AS id, i.reply, i.taken IS NOT NULL AS taken, NOT EXISTS (
        SELECT 1 FROM chimera.node n WHERE n.node = i.to_node AND n.lease_until > clock_timestamp()) AS dead
      FROM chimera.inbox i WHERE i.id = ANY(${arrayOf(ids)}::int8[])`;
    const found = new Map(rows.map((row) => [row.id, row]));
    const settle = (id: number, outcome: Outcome): void => {
      waiting.get(id)?.resolve(outcome);
      waiting.delete(id);
    };
    for (const id of ids) {
      const row = found.get(id);
      const one = waiting.get(id);
      // Only this node deletes its requests, so a statement whose reply was lost has deleted this one.
      if (row === undefined) settle(id, { reply: null, isTaken: one?.isTaken ?? true });
      else if (row.reply !== null) {
        settle(id, { reply: row.reply, isTaken: true });
        await signs.sql`DELETE FROM chimera.inbox WHERE id = ${id}`.catch(() => {});
      } else if (row.dead && one) {
        // Withdraw a request of a dead node, unless its node takes it at this moment.
        one.isTaken = row.taken;
        const gone = await signs.sql`
          DELETE FROM chimera.inbox WHERE id = ${id} AND reply IS NULL AND (taken IS NOT NULL) = ${row.taken} RETURNING id`;
        if (gone.length > 0) settle(id, { reply: null, isTaken: row.taken });
      }
    }
  };
  /** Two separate loops: in one, a failed look for replies would start the next look while `takeRequests` runs, and take a request twice. */
  const lookForRequests = onceMore(() => {
    taking = takeRequests();
    return taking;
  });
  const lookForReplies = onceMore(takeReplies);
  const look = (): void => {
    void lookForRequests();
    void lookForReplies();
  };

  /** Announces that this node answers requests. */
  const announce = async (): Promise<void> => {
    await lease.begin();
    await signs.sql`UPDATE chimera.node SET answers = true WHERE node = ${node}`;
    // The nodes that sent requests an hour ago no longer wait for an answer.
    await signs.sql`DELETE FROM chimera.inbox WHERE sent < clock_timestamp() - interval '1 hour'`;
    await signs.sql`DELETE FROM chimera.node WHERE lease_until < clock_timestamp() - interval '1 hour'`;
  };
  /** The node that must handle a request for a session; null when it is this one. */
  const route = async (sid: string): Promise<string | null> => {
    const [row] = await reads.sql<Route>`
      SELECT s.host, o.node AS owner, o.answers OR o.serves AS answers, (
        SELECT n.node FROM chimera.node n WHERE n.host = s.host AND n.serves AND n.lease_until > clock_timestamp() LIMIT 1) AS other
      FROM chimera.session s LEFT JOIN chimera.node o ON o.node = s.owner AND o.lease_until > clock_timestamp()
      WHERE s.sid = ${sid}`;
    if (row === undefined || row.owner === node) return null;
    if (row.owner !== null) return row.answers === true ? row.owner : null;
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
        const [next] = await signs.sql<{ id: number }>`SELECT nextval('chimera.inbox_id_seq')::float8 AS id`;
        const { id } = next!;
        await surely(
          () => signs.sql`
            INSERT INTO chimera.inbox(id, sid, from_node, to_node, request)
            VALUES (${id}, ${sid}, ${node}, ${to}, ${request}) ON CONFLICT DO NOTHING`,
        );
        const outcome = new Promise<Outcome>((resolve) => waiting.set(id, { resolve }));
        // A lost message only costs time.
        await notify(to).catch(() => {});
        const { reply, isTaken } = await outcome;
        if (reply !== null) return reply;
        if (isTaken) {
          const text = `the node that had session ${sid} died while it did this: look at the session before you ask again`;
          throw new StoreError("outcome_unknown", text);
        }
      }
    },
    async answer(handler) {
      handle = handler;
      announcing = announce();
      await announcing;
      if (!isClosed) await listen();
    },
    async serve() {
      await lease.begin();
      await signs.sql`UPDATE chimera.node SET serves = true WHERE node = ${node}`;
    },
    async close() {
      isClosed = true;
      clearInterval(timer);
      // Wait for the announcement: if it arrived after the update below, other nodes would ask a node that is gone.
      await announcing?.catch(() => {});
      if (announcing !== null || listening !== null)
        await signs.sql`UPDATE chimera.node SET serves = false, answers = false WHERE node = ${node}`.catch(() => {});
      // Every request that is marked as taken by now is still done.
      await taking.catch(() => {});
      await Promise.all(underWay.values());
    },
  };
}

/** The error for a session whose files are on a host without a running node. */
export function elsewhere(sid: string, host: string): StoreError {
  const text = `session ${sid} works on the files of ${host}, where no server runs now: start one there to go on; its history can be read`;
  return new StoreError("elsewhere", text);
}
