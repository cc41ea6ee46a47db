/** Connections to one database, and what its errors mean for a statement that was sent. */
import { StoreError } from "@chimera/event-store";
import postgres from "postgres";

export type Sql = postgres.Sql;

/** Connections by what waits for them: a long replay must not hold up an append, nor an append a sign of life. */
export interface Connections {
  readonly reads: Sql;
  /** Appends and claims; made anew by `reset`. */
  readonly writes: Sql;
  /** Signs of life and hints. */
  readonly signs: Sql;
  /** Drops the connections that write, so that statements whose reply never comes fail. */
  reset(): void;
  close(): Promise<void>;
}

/** Seconds until a connection that does not come is given up. */
const CONNECT_SECONDS = 5;

export function connect(url: string, name: string): Connections {
  const open = (max: number): Sql =>
    postgres(url, {
      max,
      fetch_types: false,
      connect_timeout: CONNECT_SECONDS,
      keep_alive: 10,
      // A pause of the database must not grow the pause of its clients.
      backoff: (retries: number) => Math.min(0.05 * 2 ** retries, 1) * (0.5 + Math.random() / 2),
      onnotice: () => {},
      connection: { application_name: name },
    } as postgres.Options<Record<string, never>>) as Sql;
  const [reads, signs] = [open(6), open(1)];
  let writes = open(2);
  return {
    reads,
    signs,
    get writes() {
      return writes;
    },
    reset() {
      const old = writes;
      writes = open(2);
      void old.end({ timeout: 0 }).catch(() => {});
    },
    async close() {
      await Promise.all([reads, writes, signs].map((sql) => sql.end({ timeout: 2 }).catch(() => {})));
    },
  };
}

/** SQLSTATEs after which a statement may be tried again: connection trouble, a server that stops, starts or is a standby, a deadlock. */
const AGAIN = /^(?:08|57P|25006|40001|40P01|53300)/;
const FULL = new Set(["53100", "53200"]);

/**
 * Whether nothing is known of a statement, or nothing came of it through no fault of its own. Only an answer of the server that
 * refuses the statement itself is final.
 */
export function isUnsure(error: unknown): boolean {
  const { name, code } = error as { name?: string; code?: string };
  return name !== "PostgresError" || AGAIN.test(code ?? "");
}

/** The store's error for one of the database. */
export function databaseError(error: unknown, what: string): StoreError {
  const { code = "unknown", message } = error as { code?: string; message?: string };
  return new StoreError(FULL.has(code) ? "storage_full" : "io", `${what}: ${message || code}`, { cause: error });
}

/** A list as PostgreSQL writes arrays. */
export function arrayOf(members: readonly (string | number)[]): string {
  const quoted = members.map((one) => (typeof one === "number" ? one : `"${one.replace(/["\\]/g, "\\$&")}"`));
  return `{${quoted.join(",")}}`;
}
