/** Rows of sessions: the columns that lists filter by, and the query of one page. */
import { type ListOptions, parsePageEnd } from "@chimera/event-store";
import { arrayOf, part, type Sql } from "./connect.js";

/** The columns of a summary: the fields that lists filter by, and its whole text. */
export function columnsOf(summary: object) {
  const { cwd, model, state, turns, closed, owner, shared, key } = summary as Record<string, unknown>;
  return {
    text: JSON.stringify(summary),
    cwd: textOf(cwd),
    model: textOf(model),
    state: textOf(state),
    prompted: turns !== 0,
    closed: closed === true,
    person: textOf(owner),
    shared: shared === true,
    key: textOf(key),
  };
}

export interface SessionRow {
  readonly sid: string;
  readonly summary: string;
  readonly touched: number;
  /** Whether a live node holds it. */
  readonly held: boolean;
}

/** Matching rows: a page and one row more, excluding sessions that the caller already holds. */
export function listRows(sql: Sql, { known, limit, ...asked }: ListOptions<object>): Promise<SessionRow[]> {
  const key = asked.order === "touched" ? part`touched` : part`coalesce(created, touched)`;
  const place = asked.after === undefined ? null : parsePageEnd(asked.after);
  return sql<SessionRow>`
    SELECT sid, summary, touched, EXISTS (
      SELECT 1 FROM chimera.node n WHERE n.node = s.owner AND n.lease_until > clock_timestamp()) AS held
    FROM chimera.session s
    WHERE NOT sid = ANY(${arrayOf([...(known?.keys() ?? [])])}::text[])
      ${asked.prefixes ? part`AND prefix = ANY(${arrayOf(asked.prefixes)}::text[])` : part``}
      ${asked.cwd === undefined ? part`` : part`AND cwd = ${textOf(asked.cwd)}`}
      ${asked.model === undefined ? part`` : part`AND model = ${textOf(asked.model)}`}
      ${asked.state === undefined ? part`` : part`AND (state = ${textOf(asked.state)} OR owner IS NOT NULL)`}
      ${asked.prompted === undefined ? part`` : part`AND prompted = ${asked.prompted}`}
      ${asked.visibleTo === undefined ? part`` : part`AND (person = ${textOf(asked.visibleTo)} OR shared)`}
      ${asked.key === undefined ? part`` : part`AND key = ${textOf(asked.key)}`}
      ${asked.closed === undefined ? part`` : part`AND closed = ${asked.closed}`}
      ${asked.since === undefined ? part`` : part`AND coalesce(created, touched) >= ${asked.since}`}
      ${place === null ? part`` : part`AND (${key}, sid) < (${place[0]}, ${place[1]})`}
    ORDER BY ${key} DESC, sid DESC
    ${limit === undefined || !Number.isFinite(limit) || asked.state !== undefined ? part`` : part`LIMIT ${limit + 1}`}`;
}

// --- internal ---

/** PostgreSQL text cannot hold NUL; compare it as U+FFFD. */
function textOf(value: unknown): string | null {
  return typeof value === "string" ? Buffer.from(value).toString().replaceAll("\0", "\uFFFD") : null;
}
