/** The remembered answers and the chain of decisions, which all nodes share. */
import { createHash } from "node:crypto";
import type { AnswerLines, AuditChain, AuditChains, ChainHead } from "@chimera/acp-schema/policy";
import { arrayOf, type Connections, type Sql, untilKnown } from "./connect.js";

export interface KeptDeps {
  readonly connections: Connections;
  readonly host: string;
  /** How long to repeat a statement while the database does not answer. */
  readonly patienceMs: number;
}

/** The remembered answers of a host's workspaces: two hosts may have different files at the same path. */
export function createAnswers({ connections: { reads, writes }, host, patienceMs }: KeptDeps): AnswerLines {
  const placeOf = (workspace: string) => `${host}:${workspace}`;
  const rows = async (send: () => Promise<{ text: string | null }[]>): Promise<string> =>
    (await untilKnown(send, within(patienceMs)))[0]?.text ?? "";
  return {
    async add(workspace, line) {
      // A line that is written twice has the same meaning.
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
    async workspaces() {
      const found = await reads.sql<{ workspace: string }>`
        SELECT DISTINCT substr(workspace, length(${placeOf("")}) + 1) AS workspace FROM chimera.answer
        WHERE starts_with(workspace, ${placeOf("")})`;
      return found.map(({ workspace }) => workspace);
    },
  };
}

/** The name of the chain of all nodes. Copied chains have the names of their files. */
const CHAIN = "all";
const PAGE_ROWS = 1000;

/** One chain for all nodes: a line is added only after the line that its writer believes to be the last. */
export function createChain({ connections: { writes }, patienceMs }: KeptDeps): AuditChain {
  /** The last line that this node has seen. */
  let known: ChainHead | null = null;

  /** Adds a line only after the line that it names, so that a statement sent again after a lost reply does not add it twice. */
  const insert = async (after: ChainHead, line: string, { n, hash }: ChainHead): Promise<boolean> => {
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
      const send = () => writes.sql<ChainHead>`
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
    // The store closes the connections.
    close: async () => {},
  };
}

export function createChains({ connections: { reads, writes } }: KeptDeps): AuditChains {
  return {
    async all() {
      const rows = await reads.sql<{ chain: string; n: number | null; hash: string | null; first: string | null }>`
        SELECT c.chain, h.n::float8 AS n, h.hash, f.line AS first
        FROM (SELECT chain FROM chimera.audit_head UNION SELECT DISTINCT chain FROM chimera.audit) AS c
        LEFT JOIN chimera.audit_head h USING (chain) LEFT JOIN chimera.audit f ON f.chain = c.chain AND f.n = 1 ORDER BY c.chain`;
      return rows.map(({ chain, n, hash, first }) => ({
        name: chain === CHAIN ? sharedName(first) : chain,
        head: n === null || hash === null ? null : { n, hash },
        lines: () => linesOf(reads.sql, chain),
      }));
    },
    async put({ name, head, lines }) {
      await writes.begin(async (tx) => {
        const [own] = await tx<{ line: string }>`SELECT line FROM chimera.audit WHERE chain = ${CHAIN} AND n = 1`;
        const chain = own && sharedName(own.line) === name ? CHAIN : name;
        // Nodes that add to the chain meanwhile wait, and then find that they must try again after its new last line.
        await tx`SELECT 1 FROM chimera.audit_head WHERE chain = ${chain} FOR UPDATE`;
        const [{ last } = { last: 0 }] = await tx<{ last: number }>`
          SELECT coalesce(max(n), 0)::float8 AS last FROM chimera.audit WHERE chain = ${chain}`;
        const add = async (page: readonly string[], end: number) => {
          if (page.length > 0)
            await tx`
              INSERT INTO chimera.audit(chain, n, line)
              SELECT ${chain}, ${end - page.length}::int8 + i, line FROM unnest(${arrayOf(page)}::text[]) WITH ORDINALITY AS x(line, i)`;
        };
        let n = 0;
        let page: string[] = [];
        for await (const line of lines()) {
          // Leave lines that were added after the head was read to the next copy, which has their head.
          if (head && n >= head.n) break;
          n += 1;
          if (n > last) page.push(line);
          if (page.length < PAGE_ROWS) continue;
          await add(page, n);
          page = [];
        }
        await add(page, n);
        if (head && n > last)
          await tx`
            INSERT INTO chimera.audit_head(chain, n, hash) VALUES (${chain}, ${head.n}, ${head.hash})
            ON CONFLICT (chain) DO UPDATE SET n = excluded.n, hash = excluded.hash`;
      });
    },
  };
}

// --- internal ---

function within(ms: number): () => boolean {
  const end = performance.now() + ms;
  return () => performance.now() > end;
}

/** The name of this chain when it is copied elsewhere. It differs for each database, so that their chains are not mixed up. */
function sharedName(firstLine: string | null): string {
  const hash = createHash("sha256")
    .update(firstLine ?? "")
    .digest("hex");
  return `audit-shared-${hash.slice(0, 16)}.jsonl`;
}

async function* linesOf(sql: Sql, chain: string): AsyncGenerator<string> {
  for (let after = 0; ; ) {
    const rows = await sql<{ n: number; line: string }>`
      SELECT n::float8 AS n, line FROM chimera.audit WHERE chain = ${chain} AND n > ${after} ORDER BY n LIMIT ${PAGE_ROWS}`;
    for (const { line } of rows) yield line;
    if (rows.length < PAGE_ROWS) return;
    after = rows.at(-1)!.n;
  }
}
