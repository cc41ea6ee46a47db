/** Rows of sessions: what lists filter by, and a page of those that match. */
import { type ListOptions, parsePageEnd } from "@chimera/event-store";
import { arrayOf, part, type Sql } from "./connect.js";

/** The fields that lists filter by, beside the whole text. */
export function columnsOf(summary: object) {
  const { cwd, model, state, turns, closed, owner, shared } = summary as Record<string, unknown>;
  return {
    text: JSON.stringify(summary),
    cwd: textOf(cwd),
    model: textOf(model),
    state: textOf(state),
    prompted: turns !== 0,
    closed: closed === true,
    person: textOf(owner),
    shared: shared === true,
  };
}

export interface SessionRow {
  readonly sid: string;
  readonly summary: string;
  readonly touched: number;
  /** Whether a node that lives holds it. */
  readonly held: boolean;
}

/** A page of rows that match, the one after it included, without those that the caller knows better. */
export function listRows(sql: Sql, options: ListOptions<object>): Promise<SessionRow[]> {
  const {
    prefixes,
    cwd,
    model,
    state,
    prompted,
    visibleTo,
    closed,
    since,
    order = "created",
    limit,
    after,
    known,
  } = options;
  const key = order === "touched" ? part`touched` : part`coalesce(created, touched)`;
  const place = after === undefined ? null : parsePageEnd(after);
  return sql<SessionRow>`
    SELECT sid, summary, touched, EXISTS (
      SELECT 1 FROM chimera.node n WHERE n.node = s.owner AND n.lease_until > clock_timestamp()) AS held
    FROM chimera.session s
    WHERE NOT sid = ANY(${arrayOf([...(known?.keys() ?? [])])}::text[])
      ${prefixes ? part`AND prefix = ANY(${arrayOf(prefixes)}::text[])` : part``}
      ${cwd === undefined ? part`` : part`AND cwd = ${textOf(cwd)}`}
      ${model === undefined ? part`` : part`AND model = ${textOf(model)}`}
      ${state === undefined ? part`` : part`AND (state = ${textOf(state)} OR owner IS NOT NULL)`}
      ${prompted === undefined ? part`` : part`AND prompted = ${prompted}`}
      ${visibleTo === undefined ? part`` : part`AND (person = ${textOf(visibleTo)} OR shared)`}
      ${closed === undefined ? part`` : part`AND closed = ${closed}`}
      ${since === undefined ? part`` : part`AND coalesce(created, touched) >= ${since}`}
      ${place === null ? part`` : part`AND (${key}, sid) < (${place[0]}, ${place[1]})`}
    ORDER BY ${key} DESC, sid DESC
    ${limit === undefined || !Number.isFinite(limit) || state !== undefined ? part`` : part`LIMIT ${limit + 1}`}`;
}

// --- internal ---

/** What no text of PostgreSQL can hold is compared as something that no path or name has either. */
function textOf(value: unknown): string | null {
  return typeof value === "string" ? Buffer.from(value).toString().replaceAll("\0", "\uFFFD") : null;
}
