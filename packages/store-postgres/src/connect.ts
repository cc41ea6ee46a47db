/** Connections to one database, and the meaning of its errors: may the statement have run, and may it be sent again. */
import { setTimeout as pause } from "node:timers/promises";
import { isStoreError, StoreError } from "@chimera/event-store";
import pg from "pg";
import { createListener } from "./listener.js";

/**
 * Sends a statement and resolves with its rows. The values of the template become parameters; a `part` becomes text.
 *
 * @example
 * const [row] = await sql<{ last: number }>`SELECT last_seq::float8 AS last FROM chimera.session WHERE sid = ${sid}`;
 */
export type Sql = <R extends object>(strings: TemplateStringsArray, ...values: readonly unknown[]) => Promise<R[]>;

export interface Pool {
  readonly sql: Sql;
  /** Runs statements in one transaction, which is rolled back when the function rejects. */
  begin<T>(work: (sql: Sql, script: (text: string) => Promise<unknown>) => Promise<T>): Promise<T>;
}

/** One pool for each purpose, so that a long replay does not delay an append, nor an append the renewal of the lease. */
export type Connections = ReturnType<typeof connect>;

/** How long to wait for a connection. */
const CONNECT_MS = 5000;
/** How long to wait for a reply: a connection may break without a notice. */
const READ_MS = 30_000;
const LEAST_WRITE_MS = 5000;
const AGAIN_MS = 100;

/**
 * @param url may name several servers, `postgres://a,b/name`; the store uses the one that accepts writes.
 * @param leaseMs how long to wait for the reply to a lease renewal or an append. After that it is sent again over another connection.
 */
export function connect(url: string, leaseMs: number) {
  const addresses = addressesOf(url);
  let current = 0;
  const settings = () => ({
    connectionString: addresses[current],
    application_name: "chimera",
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
  class Client extends pg.Client {
    constructor(given?: string | pg.ClientConfig) {
      super({ ...(given as pg.ClientConfig), ...settings() });
      // Without a listener, a connection that breaks while idle would end the process. The pool opens another one.
      this.on("error", () => {});
    }
  }
  const pools: pg.Pool[] = [];
  const open = (max: number, replyMs: number): Pool => {
    const pool = new pg.Pool({
      Client,
      max,
      query_timeout: replyMs,
      connectionTimeoutMillis: CONNECT_MS,
      idleTimeoutMillis: 0,
      ...(addresses.length > 1 && { onConnect: requireWritable }),
    });
    pool.on("error", () => {});
    pools.push(pool);
    /** Switches to the next server once for all statements that failed on the same one. */
    const run = async <T>(work: () => Promise<T>): Promise<T> => {
      const used = current;
      try {
        return await work();
      } catch (error) {
        if (isUnsure(error) && used === current) current = (current + 1) % addresses.length;
        throw databaseError(error);
      }
    };
    return {
      sql: (strings, ...values) => run(async () => (await pool.query(statementOf(strings, values))).rows),
      begin: (work) => run(async () => transaction(await pool.connect(), work)),
    };
  };
  const reads = open(6, READ_MS);
  const writes = open(2, Math.max(leaseMs, LEAST_WRITE_MS));
  const signs = open(1, leaseMs);
  const listener = createListener(() => new Client());
  const closing = new AbortController();
  /** Aborted when the connections are closed. */
  const closed: AbortSignal = closing.signal;
  return {
    /** The number of servers that the address names. */
    servers: addresses.length,
    reads,
    /** Appends and claims. */
    writes,
    /** Lease renewals, hints and requests to other nodes. */
    signs,
    listener,
    closed,
    async close() {
      closing.abort();
      await Promise.all([listener.close(), ...pools.map((pool) => pool.end().catch(() => {}))]);
    },
  };
}

/** SQLSTATEs after which a statement may be sent again: connection trouble, a server that stops, starts or is a standby, a deadlock. */
const AGAIN = /^(?:08|57P|25006|40001|40P01|53300)/;
const FULL = new Set(["53100", "53200"]);

/**
 * True when it is unknown whether a statement was done, or when it failed for a reason outside itself. Only an answer in which the
 * server refuses the statement itself is final.
 */
export function isUnsure(error: unknown): boolean {
  const raised = isStoreError(error) ? error.cause : error;
  return raised !== undefined && (!(raised instanceof pg.DatabaseError) || AGAIN.test(raised.code ?? ""));
}

/** Sends a statement that may be done twice, until it is known to be done or `isOver`. */
export async function untilKnown<T>(send: () => Promise<T>, isOver: () => boolean): Promise<T> {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (isOver() || !isUnsure(error)) throw error;
      await pause(AGAIN_MS);
    }
  }
}

/** The StoreError for an error of the database; a StoreError is returned unchanged. */
function databaseError(error: unknown): StoreError {
  if (isStoreError(error)) return error;
  const { code = "unknown", message } = error as { code?: string; message?: string };
  if (FULL.has(code)) return new StoreError("storage_full", `the database: ${message || code}`, { cause: error });
  return new StoreError("database", isUnsure(error) ? away(code) : `the database: ${message}`, { cause: error });
}

/** The message for callers: what happened, what is safe and what to do. */
function away(code: string): string {
  const reason = code === "unknown" ? "" : ` (${code})`;
  return (
    `the database does not answer${reason}: sessions cannot be read or written until it does, and acknowledged records are safe; ` +
    "check that it runs and can be reached, then try again"
  );
}

/** A list in PostgreSQL's notation for arrays. */
export function arrayOf(members: readonly (string | number)[]): string {
  const quoted = members.map((one) => (typeof one === "number" ? one : `"${one.replace(/["\\]/g, "\\$&")}"`));
  return `{${quoted.join(",")}}`;
}

/** A fragment of a statement with its own values. */
export interface Part {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];
}

const parts = new WeakSet<object>();

export function part(strings: TemplateStringsArray, ...values: readonly unknown[]): Part {
  const made = { strings, values };
  parts.add(made);
  return made;
}

// --- internal ---

/** The names of prepared statements. Their number is bounded, because every statement's text is in the source. */
const names = new Map<string, string>();

function statementOf(strings: readonly string[], values: readonly unknown[]): pg.QueryConfig {
  const given: unknown[] = [];
  const text = textOf({ strings, values }, given);
  const name = names.get(text) ?? `chimera_${names.size}`;
  names.set(text, name);
  return { name, text, values: given };
}

function textOf({ strings, values }: Part, given: unknown[]): string {
  return values.reduce<string>((text, value, i) => {
    const isPart = typeof value === "object" && value !== null && parts.has(value);
    const written = isPart ? textOf(value as Part, given) : `$${given.push(value)}`;
    return text + written + strings[i + 1];
  }, strings[0] ?? "");
}

async function transaction<T>(client: pg.PoolClient, work: Parameters<Pool["begin"]>[0]): Promise<T> {
  try {
    await client.query("BEGIN");
    const result = await work(
      async (strings, ...values) => (await client.query(statementOf(strings, values))).rows,
      (text) => client.query(text),
    );
    await client.query("COMMIT");
    client.release();
    return result as T;
  } catch (error) {
    await client.query("ROLLBACK").then(
      () => client.release(),
      () => client.release(true),
    );
    throw error;
  }
}

/** Splits an address with several servers into one address for each. */
function addressesOf(url: string): string[] {
  const plain = url.replace(/([?&])target_session_attrs=[^&]*&?/, "$1").replace(/[?&]$/, "");
  const [, before, hosts, after] = /^(\w+:\/\/(?:[^@/]*@)?)([^/?]*)(.*)$/.exec(plain) ?? [];
  return hosts === undefined ? [plain] : hosts.split(",").map((host) => `${before}${host}${after}`);
}

/** Refuses a standby, so that among several servers the pool tries the next one. */
async function requireWritable(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ standby: boolean }>("SELECT pg_is_in_recovery() AS standby");
  if (rows[0]?.standby !== false) throw new Error("the server is a standby");
}
