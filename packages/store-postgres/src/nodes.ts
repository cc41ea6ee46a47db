/** What nodes share besides logs: whose sessions have no owner left, which are held, and the hashes of session tokens. */
import { arrayOf, type Connections } from "./connect.js";
import type { Lease } from "./lease.js";

export interface Nodes {
  /** Calls back with every session whose node died, one at a time, until the function it returns is called. */
  onOrphan(settle: (sid: string) => Promise<unknown>): () => void;
  /** The sessions that any node holds now. */
  held(): Promise<ReadonlySet<string>>;
  /** True while another node holds the session. */
  isElsewhere(sid: string): Promise<boolean>;
  /** The bytes of a session's records and its summary, as text. */
  sizeOf(sid: string): Promise<number>;
  readonly tokens: TokenHashes;
  readonly people: SharedText;
}

/** A text that all nodes share: the list of people. */
export interface SharedText {
  read(): Promise<string | null>;
  /** One change at a time, over all nodes. */
  change(make: (text: string | null) => string): Promise<void>;
  /** Calls back within a second of each change, also of other nodes. */
  onChange(changed: () => void): void;
}

export interface TokenHashes {
  read(sid: string): Promise<Buffer | null>;
  /** Null takes it away. Streams that were opened with the former token are cut on every node. */
  write(sid: string, hash: Buffer | null): Promise<void>;
  /** Calls back with each known session whose token is another one by now or gone, within a second, also when another node did that. */
  onVoid(known: () => ReadonlyMap<string, Buffer>, voided: (sid: string) => void): void;
}

const CHANNEL = "chimera_token";
const PEOPLE_CHANNEL = "chimera_people";
/** How often tokens and people are looked at: a message may be lost, and what is revoked is void within a second. */
const LOOK_MS = 400;
const AT_ONCE = 8;

export interface NodesDeps {
  readonly lease: Lease;
  readonly host: string;
  /** Sessions that are claimed although their files are elsewhere: to end their turns. */
  readonly adopted: Set<string>;
  readonly onError: (error: unknown) => void;
}

export function createNodes(
  { reads, signs, listener }: Connections,
  { lease, host, adopted, onError }: NodesDeps,
): Nodes {
  const orphans = async (): Promise<string[]> => {
    const rows = await reads.sql<{ sid: string }>`
      SELECT s.sid FROM chimera.session s
      WHERE s.owner IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM chimera.node n WHERE n.node = s.owner AND n.lease_until > clock_timestamp())
        AND (s.host = ${host} OR NOT EXISTS (
          SELECT 1 FROM chimera.node n WHERE n.host = s.host AND n.serves AND n.lease_until > clock_timestamp()))
      ORDER BY random() LIMIT 200`;
    return rows.map((row) => row.sid);
  };
  return {
    onOrphan(settle) {
      let isBusy = false;
      let isOver = false;
      const settleAll = async (): Promise<void> => {
        const left = await orphans();
        const work = async (): Promise<void> => {
          for (let sid = left.pop(); sid !== undefined && !isOver; sid = left.pop()) {
            adopted.add(sid);
            // Another node may be quicker.
            await settle(sid).catch(onError);
            adopted.delete(sid);
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, work));
      };
      const timer = setInterval(
        () => {
          if (isBusy) return;
          isBusy = true;
          void settleAll()
            .catch(onError)
            .finally(() => {
              isBusy = false;
            });
        },
        Math.min(lease.leaseMs / 5, 500),
      ).unref();
      return () => {
        isOver = true;
        clearInterval(timer);
      };
    },
    async held() {
      const rows = await reads.sql<{ sid: string }>`
        SELECT s.sid FROM chimera.session s JOIN chimera.node n ON n.node = s.owner AND n.lease_until > clock_timestamp()`;
      return new Set(rows.map((row) => row.sid));
    },
    async isElsewhere(sid) {
      const rows = await reads.sql`
        SELECT 1 FROM chimera.session s JOIN chimera.node n ON n.node = s.owner AND n.lease_until > clock_timestamp()
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
        const [row] = await reads.sql<{ token: Buffer | null }>`SELECT token FROM chimera.session WHERE sid = ${sid}`;
        return row?.token ?? null;
      },
      async write(sid, hash) {
        await signs.sql`
          WITH written AS (UPDATE chimera.session SET token = ${hash} WHERE sid = ${sid}) SELECT pg_notify(${CHANNEL}, ${sid})`;
      },
      onVoid(known, voided) {
        const look = lookAgain(async () => {
          const tokens = new Map(known());
          if (tokens.size === 0) return;
          const hashes = [...tokens.values()].map((hash) => `\\x${hash.toString("hex")}`);
          const rows = await reads.sql<{ sid: string }>`
            SELECT k.sid FROM unnest(${arrayOf([...tokens.keys()])}::text[], ${arrayOf(hashes)}::bytea[]) AS k(sid, token)
            LEFT JOIN chimera.session s ON s.sid = k.sid WHERE s.token IS DISTINCT FROM k.token`;
          const now = known();
          // One that was issued meanwhile is another one.
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
        const look = lookAgain(async () => {
          const [row] = await reads.sql<{ mark: string }>`SELECT md5(list) AS mark FROM chimera.people`;
          const mark = row?.mark ?? null;
          // The first look, too: the list may have changed since it was read.
          if (mark !== last) changed();
          last = mark;
        });
        void listener.listen(PEOPLE_CHANNEL, look, look);
      },
    },
  };
}

// --- internal ---

/** Looks now and then, and once more when asked while it looks. While the database is away, the next look is a moment later. */
function lookAgain(look: () => Promise<void>): () => void {
  let isDue = false;
  let isLooking = false;
  const again = async (): Promise<void> => {
    isDue = true;
    if (isLooking) return;
    isLooking = true;
    while (isDue) {
      isDue = false;
      await look().catch(() => {});
    }
    isLooking = false;
  };
  setInterval(() => void again(), LOOK_MS).unref();
  return () => void again();
}
