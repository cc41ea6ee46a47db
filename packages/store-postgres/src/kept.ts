/** What nodes keep together besides sessions: remembered answers, and the chain of what was decided. */
import { type Connections, untilKnown } from "./connect.js";

export interface KeptDeps {
  readonly connections: Connections;
  readonly host: string;
  /** How long something is tried while the database does not answer. */
  readonly patienceMs: number;
}

export interface Answers {
  add(workspace: string, line: string): Promise<void>;
  /** Changes whenever a line is added; empty when there is none. */
  mark(workspace: string): Promise<string>;
  /** All lines, in the order in which they were added. */
  read(workspace: string): Promise<string>;
}

/** Two hosts may have different files at the same path. */
export function createAnswers({ connections: { reads, writes }, host, patienceMs }: KeptDeps): Answers {
  const placeOf = (workspace: string) => `${host}:${workspace}`;
  const rows = async (send: () => Promise<{ text: string | null }[]>): Promise<string> =>
    (await untilKnown(send, within(patienceMs)))[0]?.text ?? "";
  return {
    async add(workspace, line) {
      // Twice is as good as once.
      await rows(() => writes.sql`INSERT INTO chimera.answer(workspace, line) VALUES (${placeOf(workspace)}, ${line})`);
    },
    mark: (workspace) =>
      rows(
        () => reads.sql`
          SELECT max(id) || ' ' || count(*) AS text FROM chimera.answer WHERE workspace = ${placeOf(workspace)}`,
      ),
    read: (workspace) =>
      rows(
        () => reads.sql`
          SELECT string_agg(line, E'\n' ORDER BY id) AS text FROM chimera.answer WHERE workspace = ${placeOf(workspace)}`,
      ),
  };
}

export interface Head {
  readonly n: number;
  readonly hash: string;
}

/** One chain for all nodes: a line is added only after the line that its writer knows to be the last. */
export interface Chain {
  /** Null: it has no line. */
  head(): Promise<Head | null>;
  /** False: another node was quicker, and nothing was added. */
  extend(after: Head, line: string, head: Head): Promise<boolean>;
  /** The lines, oldest first. */
  lines(): AsyncGenerator<string>;
}

const CHAIN = "all";
const PAGE_ROWS = 1000;

export function createChain({ connections: { reads, writes }, patienceMs }: KeptDeps): Chain {
  /** The last line that this node has seen. */
  let known: Head | null = null;

  /** Written only after the line that it names: sent again after a lost reply, a line is there once. */
  const insert = async (after: Head, line: string, { n, hash }: Head): Promise<boolean> => {
    const rows = await writes.sql`
      WITH head AS (
        INSERT INTO chimera.audit_head AS h(chain, n, hash) SELECT ${CHAIN}, ${n}, ${hash}
        WHERE ${after.n}::int8 = 0 OR EXISTS (SELECT 1 FROM chimera.audit_head WHERE chain = ${CHAIN})
        ON CONFLICT (chain) DO UPDATE SET n = excluded.n, hash = excluded.hash
        WHERE h.n = ${after.n} AND h.hash = ${after.hash} RETURNING h.n
      )
      INSERT INTO chimera.audit(chain, n, line) SELECT ${CHAIN}, n, ${line} FROM head RETURNING n`;
    return rows.length > 0;
  };
  const isThere = async (n: number, line: string): Promise<boolean> =>
    (await writes.sql`SELECT 1 FROM chimera.audit WHERE chain = ${CHAIN} AND n = ${n} AND line = ${line}`).length > 0;

  return {
    async head() {
      if (known !== null) return known;
      const send = () => writes.sql<Head>`
        SELECT n::float8 AS n, hash FROM chimera.audit_head WHERE chain = ${CHAIN}`;
      return (await untilKnown(send, within(patienceMs)))[0] ?? null;
    },
    async extend(after, line, head) {
      known = null;
      const send = async () => (await insert(after, line, head)) || (await isThere(head.n, line));
      const isWritten = await untilKnown(send, within(patienceMs));
      if (isWritten) known = head;
      return isWritten;
    },
    async *lines() {
      for (let after = 0; ; ) {
        const rows = await reads.sql<{ n: number; line: string }>`
          SELECT n::float8 AS n, line FROM chimera.audit WHERE chain = ${CHAIN} AND n > ${after}
          ORDER BY n LIMIT ${PAGE_ROWS}`;
        for (const { line } of rows) yield line;
        if (rows.length < PAGE_ROWS) return;
        after = rows.at(-1)!.n;
      }
    },
  };
}

// --- internal ---

function within(ms: number): () => boolean {
  const end = performance.now() + ms;
  return () => performance.now() > end;
}
