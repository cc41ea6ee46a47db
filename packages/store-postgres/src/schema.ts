/** The tables, which nodes create and change under one lock, and the check of a server's settings. */
import { StoreError } from "@chimera/event-store";
import type { Pool } from "./connect.js";

/**
 * The changes of each version of the tables; the number of entries is the newest version. Records are stored as `text`, because `jsonb`
 * would refuse some and rewrite others. Columns that every append changes have no index, so that appends stay cheap updates in place.
 */
const VERSIONS: readonly string[] = [
  `
  CREATE TABLE chimera.node(
    node text COLLATE "C" PRIMARY KEY, host text NOT NULL, pid int4 NOT NULL,
    serves boolean NOT NULL DEFAULT false, lease_until timestamptz NOT NULL);
  CREATE TABLE chimera.session(
    sid text COLLATE "C" PRIMARY KEY, last_seq int8 NOT NULL DEFAULT 0, fence int8 NOT NULL DEFAULT 0,
    owner text COLLATE "C", host text NOT NULL, summary text NOT NULL,
    prefix text NOT NULL, created float8, touched float8 NOT NULL,
    cwd text, model text, state text, prompted boolean NOT NULL, closed boolean NOT NULL, token bytea
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX session_owned ON chimera.session(owner) WHERE owner IS NOT NULL;
  CREATE TABLE chimera.event(
    sid text COLLATE "C" NOT NULL, seq int8 NOT NULL, line text NOT NULL, PRIMARY KEY (sid, seq));
  CREATE TABLE chimera.inbox(
    id bigserial PRIMARY KEY, sid text NOT NULL, from_node text NOT NULL, to_node text NOT NULL,
    request text NOT NULL, taken timestamptz, reply text, sent timestamptz NOT NULL DEFAULT clock_timestamp());
  CREATE INDEX inbox_waiting ON chimera.inbox(to_node) WHERE taken IS NULL;
  CREATE TABLE chimera.answer(
    id bigserial PRIMARY KEY, workspace text NOT NULL, line text NOT NULL);
  CREATE INDEX answer_workspace ON chimera.answer(workspace, id);
  CREATE TABLE chimera.audit(chain text NOT NULL, n int8 NOT NULL, line text NOT NULL, PRIMARY KEY (chain, n));
  CREATE TABLE chimera.audit_head(chain text PRIMARY KEY, n int8 NOT NULL, hash text NOT NULL);
  `,
  `
  ALTER TABLE chimera.session ADD COLUMN person text, ADD COLUMN shared boolean NOT NULL DEFAULT false;
  CREATE TABLE chimera.people(one boolean PRIMARY KEY DEFAULT true CHECK (one), list text NOT NULL);
  `,
  `
  ALTER TABLE chimera.node ADD COLUMN program text;
  ALTER TABLE chimera.session ADD COLUMN claimed timestamptz;
  `,
  `
  ALTER TABLE chimera.node ADD COLUMN answers boolean NOT NULL DEFAULT false;
  `,
  `
  ALTER TABLE chimera.session ADD COLUMN token_by text;
  `,
  `
  ALTER TABLE chimera.session ADD COLUMN key text;
  CREATE INDEX session_key ON chimera.session(key) WHERE key IS NOT NULL;
  `,
  `
  ALTER TABLE chimera.session ADD COLUMN keyed boolean NOT NULL DEFAULT false;
  CREATE UNIQUE INDEX session_made_once ON chimera.session(prefix, coalesce(person, ''), key) WHERE keyed AND NOT closed;
  `,
  `
  ALTER TABLE chimera.session ADD COLUMN origin text NOT NULL DEFAULT '';
  ALTER TABLE chimera.session ALTER COLUMN origin SET DEFAULT gen_random_uuid()::text;
  `,
];

/** The key of the lock. Any number will do, as long as every version uses the same one. */
const LOCK = 0x63686d72;

/** Brings the tables up to date. Any number of nodes may call it at once. */
export async function migrate(pool: Pool): Promise<void> {
  await pool.begin(async (sql, script) => {
    await sql`SELECT pg_advisory_xact_lock(${LOCK})`;
    const [found] = await sql<{ made: boolean }>`SELECT to_regclass('chimera.meta') IS NOT NULL AS made`;
    if (!found?.made) {
      await script("CREATE SCHEMA IF NOT EXISTS chimera; CREATE TABLE chimera.meta(version int4 NOT NULL)");
      await sql`INSERT INTO chimera.meta(version) VALUES (0)`;
    }
    const [meta] = await sql<{ version: number }>`SELECT version FROM chimera.meta`;
    const version = Number(meta?.version);
    if (version > VERSIONS.length) {
      const text = `the database has tables of version ${version}, and this program knows ${VERSIONS.length}: update it`;
      throw new StoreError("unsupported_format", text);
    }
    if (version === VERSIONS.length) return;
    for (const change of VERSIONS.slice(version)) await script(change);
    await sql`UPDATE chimera.meta SET version = ${VERSIONS.length}`;
  });
}

/** How durable a commit is on a server. */
export interface ServerReport {
  readonly version: string;
  /** The oldest supported major version is 14. */
  readonly major: number;
  readonly fsync: boolean;
  readonly synchronousCommit: string;
  /** Whether a commit waits for a second machine. */
  readonly hasSynchronousStandby: boolean;
  readonly isStandby: boolean;
}

export async function inspectServer({ sql }: Pool): Promise<ServerReport> {
  const [row] = await sql<Record<string, unknown>>`
    SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int4 AS number,
      current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
      current_setting('synchronous_standby_names') AS standbys, pg_is_in_recovery() AS standby`;
  return {
    version: String(row?.["version"]),
    major: Math.floor(Number(row?.["number"]) / 10_000),
    fsync: row?.["fsync"] === "on",
    synchronousCommit: String(row?.["commit"]),
    hasSynchronousStandby: row?.["standbys"] !== "",
    isStandby: row?.["standby"] === true,
  };
}

/** Why sessions may not be kept on this server; null when they may. */
export function refusalOf(server: ServerReport): string | null {
  if (server.major < 14) return `PostgreSQL ${server.version} is too old: 14 or newer is needed`;
  if (!server.fsync)
    return "the server runs with fsync=off, and would lose acknowledged records in a crash: turn it on";
  if (server.synchronousCommit === "off")
    return "the server runs with synchronous_commit=off, and would lose acknowledged records in a crash: turn it on";
  if (server.isStandby)
    return "the server is a standby: name the primary, or all servers and target_session_attrs=read-write";
  return null;
}
