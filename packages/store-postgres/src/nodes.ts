/** The state that nodes share besides logs: held sessions, sessions whose node died, hashes of session tokens, and the list of people. */
import { arrayOf, type Connections, part } from "./connect.js";
import { holder, isHeld, type Lease } from "./lease.js";
import { onceMore } from "./listener.js";

export interface Nodes {
  /**
   * Takes over every session whose node died, and calls `settle` with each to end its turn, until the returned function is called.
   */
  onOrphan(settle: (sid: string) => Promise<unknown>): () => void;
  /** The sessions that any node holds now. */
  held(): Promise<ReadonlySet<string>>;
  /** How many sessions of a program other nodes hold, by the person who made each. */
  heldElsewhere(prefix: string): Promise<(readonly [person: string | undefined, sessions: number])[]>;
  /** True while another node holds the session. */
  isElsewhere(sid: string): Promise<boolean>;
  /** The size of a session's records and summary, in bytes of text. */
  sizeOf(sid: string): Promise<number>;
  readonly tokens: TokenHashes;
  readonly people: SharedText;
}

/** A text that all nodes share: the list of people. */
export interface SharedText {
  read(): Promise<string | null>;
  /** Changes the text; over all nodes, one change runs at a time. */
  change(make: (text: string | null) => string): Promise<void>;
  /** Calls back within a second of each change on any node, and once for the existing text. */
  onChange(changed: () => Promise<void>): void;
}

export interface TokenHashes {
  read(sid: string): Promise<TokenHash | null>;
  /** Replaces the token. Every node then cuts the streams that were opened with the former one. */
  write(sid: string, token: TokenHash): Promise<void>;
  /** Removes the token; with `hash`, only if it is still that one. */
  remove(sid: string, hash?: Buffer): Promise<void>;
  /** Calls back, within a second, with each known session whose token any node replaced or removed. */
  onVoid(known: () => ReadonlyMap<string, Buffer>, voided: (sid: string) => void): void;
}

/** The digest of a session's token. */
export interface TokenHash {
  readonly hash: Buffer;
  /** The entry in the list of people of the caller for whom the token was made. Null if the caller was not on the list. */
  readonly by: string | null;
}

const CHANNEL = "chimera_token";
const PEOPLE_CHANNEL = "chimera_people";
/** The time between two looks at tokens and people: a message may be lost, and a revoked token must be void within a second. */
const LOOK_MS = 400;
/** How many sessions of dead nodes are settled at once, and how often each is tried. */
const AT_ONCE = 8;
const ATTEMPTS = 3;
/** A node takes at least this many orphans at once: fewer are not worth sharing. */
const LEAST_SHARE = 16;
const LONGEST_LOOK_MS = 250;

export interface NodesDeps {
  readonly lease: Lease;
  readonly host: string;
  /** Sessions that this node claims to end their turns, although their files are on another host. */
  readonly adopted: Set<string>;
  readonly onError: (error: unknown) => void;
}

export function createNodes(
  { reads, writes, signs, listener, closed }: Connections,
  { lease, host, adopted, onError }: NodesDeps,
): Nodes {
  /** The condition of an orphan: its owner is dead, and this node has its files, or no live server has them. */
  const isOrphan = part`
    s.owner IS NOT NULL
    AND NOT ${isHeld}
    AND (s.host = ${host} OR NOT EXISTS (
      SELECT 1 FROM chimera.node n WHERE n.host = s.host AND n.serves AND n.lease_until > clock_timestamp()))`;
  /** Takes this node's share of the orphans in one statement, those with a turn first. Other nodes, or the next look, take the rest. */
  const takeOrphans = async (): Promise<string[]> => {
    const [found] = await reads.sql<{ orphans: number; heirs: number }>`
      SELECT count(*)::int4 AS orphans, (
        SELECT count(*)::int4 FROM chimera.node n WHERE n.serves AND n.lease_until > clock_timestamp()) AS heirs
      FROM chimera.session s WHERE ${isOrphan}`;
    if (found === undefined || found.orphans === 0) return [];
    await lease.begin();
    const share = Math.max(LEAST_SHARE, Math.ceil(found.orphans / Math.max(1, found.heirs)));
    const rows = await writes.sql<{ sid: string }>`
      UPDATE chimera.session SET owner = ${lease.node}, fence = fence + 1, claimed = clock_timestamp() WHERE sid IN (
        SELECT s.sid FROM chimera.session s WHERE ${isOrphan}
        ORDER BY s.state IS NOT DISTINCT FROM 'idle', random() LIMIT ${share} FOR UPDATE OF s SKIP LOCKED)
      RETURNING sid`;
    return rows.map((row) => row.sid);
  };
  /** Gives up a session that this node took and cannot settle; the next node that claims it recovers it. */
  const giveBack = async (sid: string): Promise<void> => {
    if (!lease.holds(sid))
      await writes.sql`UPDATE chimera.session SET owner = NULL WHERE sid = ${sid} AND owner = ${lease.node}`;
  };

  return {
    onOrphan(settle) {
      const taken: { readonly sid: string; readonly attempt: number }[] = [];
      /** Sessions to try again after the next look. */
      const failed: typeof taken = [];
      let isBusy = false;
      let isOver = false;
      let working = 0;
      const work = async (): Promise<void> => {
        working += 1;
        for (let one = taken.shift(); one !== undefined && !isOver; one = taken.shift()) {
          const { sid, attempt } = one;
          adopted.add(sid);
          try {
            await (attempt <= ATTEMPTS ? settle(sid) : giveBack(sid));
          } catch (error) {
            onError(error);
            failed.push({ sid, attempt: attempt + 1 });
          }
          adopted.delete(sid);
        }
        working -= 1;
      };
      /** Does not wait until the sessions are settled: other nodes can ask this one for them as soon as it has them. */
      const look = async (): Promise<void> => {
        const orphans = await takeOrphans();
        taken.push(...orphans.map((sid) => ({ sid, attempt: 1 })), ...failed.splice(0));
        for (let free = Math.min(AT_ONCE - working, taken.length); free > 0; free -= 1) void work();
      };
      const timer = setInterval(
        () => {
          if (isBusy) return;
          isBusy = true;
          void look()
            .catch(onError)
            .finally(() => {
              isBusy = false;
            });
        },
        Math.min(lease.leaseMs / 10, LONGEST_LOOK_MS),
      ).unref();
      return () => {
        isOver = true;
        clearInterval(timer);
      };
    },
    async held() {
      const rows = await reads.sql<{ sid: string }>`
        SELECT s.sid FROM chimera.session s JOIN ${holder}`;
      return new Set(rows.map((row) => row.sid));
    },
    async heldElsewhere(prefix) {
      const rows = await reads.sql<{ person: string | null; sessions: number }>`
        SELECT s.person, count(*)::int4 AS sessions
        FROM chimera.session s JOIN ${holder}
        WHERE s.owner <> ${lease.node} AND s.prefix = ${prefix} GROUP BY s.person`;
      return rows.map(({ person, sessions }) => [person ?? undefined, sessions] as const);
    },
    async isElsewhere(sid) {
      const rows = await reads.sql`
        SELECT 1 FROM chimera.session s JOIN ${holder}
        WHERE s.sid = ${sid} AND s.owner <> ${lease.node}`;
      return rows.length > 0;
    },
    async sizeOf(sid) {
      const [row] = await reads.sql<{ size: string }>`
        SELECT octet_length(s.summary) + coalesce((SELECT sum(octet_length(line)) FROM chimera.event e WHERE e.sid = s.sid), 0) AS size
        FROM chimera.session s WHERE s.sid = ${sid}`;
      return Number(row?.size ?? 0);
    },
    tokens: {
      async read(sid) {
        const [row] = await reads.sql<{ token: Buffer | null; by: string | null }>`
          SELECT token, token_by AS by FROM chimera.session WHERE sid = ${sid}`;
        return row?.token ? { hash: row.token, by: row.by } : null;
      },
      async write(sid, { hash, by }) {
        await signs.sql`
          WITH written AS (UPDATE chimera.session SET token = ${hash}, token_by = ${by} WHERE sid = ${sid})
          SELECT pg_notify(${CHANNEL}, ${sid})`;
      },
      async remove(sid, hash) {
        await signs.sql`
          WITH removed AS (
            UPDATE chimera.session SET token = NULL, token_by = NULL
            WHERE sid = ${sid} AND (${hash ?? null}::bytea IS NULL OR token = ${hash ?? null}::bytea))
          SELECT pg_notify(${CHANNEL}, ${sid})`;
      },
      onVoid(known, voided) {
        const look = lookAgain(closed, async () => {
          const tokens = new Map(known());
          if (tokens.size === 0) return;
          const hashes = [...tokens.values()].map((hash) => `\\x${hash.toString("hex")}`);
          const rows = await reads.sql<{ sid: string }>`
            SELECT k.sid FROM unnest(${arrayOf([...tokens.keys()])}::text[], ${arrayOf(hashes)}::bytea[]) AS k(sid, token)
            LEFT JOIN chimera.session s ON s.sid = k.sid WHERE s.token IS DISTINCT FROM k.token`;
          const now = known();
          // Skip a session that got a new token while the statement ran.
          for (const { sid } of rows) if (now.get(sid) === tokens.get(sid)) voided(sid);
        });
        void listener.listen(CHANNEL, (sid) => known().has(sid) && look(), look);
      },
    },
    people: {
      async read() {
        const [row] = await reads.sql<{ list: string }>`SELECT list FROM chimera.people`;
        return row?.list ?? null;
      },
      change: (make) =>
        signs.begin(async (tx) => {
          await tx`LOCK TABLE chimera.people IN EXCLUSIVE MODE`;
          const [row] = await tx<{ list: string }>`SELECT list FROM chimera.people`;
          const list = make(row?.list ?? null);
          await tx`INSERT INTO chimera.people(list) VALUES (${list}) ON CONFLICT (one) DO UPDATE SET list = ${list}`;
          await tx`SELECT pg_notify(${PEOPLE_CHANNEL}, '')`;
        }),
      onChange(changed) {
        let last: string | null | undefined;
        const look = lookAgain(closed, async () => {
          const [row] = await reads.sql<{ mark: string }>`SELECT md5(list) AS mark FROM chimera.people`;
          const mark = row?.mark ?? null;
          // Also after the first look, because the list may have changed since it was read.
          if (mark !== last) await changed();
          last = mark;
        });
        void listener.listen(PEOPLE_CHANNEL, look, look);
      },
    },
  };
}

// --- internal ---

/** Runs `look` every `LOOK_MS`, and whenever the returned function is called. */
function lookAgain(closed: AbortSignal, look: () => Promise<void>): () => void {
  const again = onceMore(look);
  const timer = setInterval(() => void again(), LOOK_MS).unref();
  closed.addEventListener("abort", () => clearInterval(timer), { once: true });
  return () => void again();
}
