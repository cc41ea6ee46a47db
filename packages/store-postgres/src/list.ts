/** Rows of sessions: the columns that lists filter by, and the query of one page. */
import { type ListedSession, type ListOptions, parsePageEnd } from "@chimera/event-store";
import { pageOf } from "@chimera/event-store/backend";
import { arrayOf, part, type Sql } from "./connect.js";
import { isHeld } from "./lease.js";

/** The columns of a summary: the fields that lists filter by, and its whole text. */
export function columnsOf(summary: object) {
  const { cwd, model, state, turns, closed, owner, shared, key, request } = summary as Record<string, unknown>;
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
    /** The digest of the request that made the session. Absent if the key is not of that request: a fork may have its parent's key. */
    request: textOf(request),
  };
}

/** A page of the list. `shaped` reads a stored summary; `unheld` shows one of a session that no live node holds. */
export async function listSessions<S extends object>(
  sql: Sql,
  options: ListOptions<S>,
  { shaped, unheld }: { readonly shaped: (sid: string, text: string) => S; readonly unheld: (summary: S) => S },
): Promise<{ sessions: ListedSession<S>[]; next: string | null }> {
  const rows = await listRows(sql, options);
  const found = new Map<string, ListedSession<S>>();
  for (const { sid, touched, held, summary: text } of rows) {
    try {
      const summary = shaped(sid, text);
      // The summary of a node that died during a turn still says that the turn runs.
      found.set(sid, { id: sid, summary: held ? summary : unheld(summary), touched });
    } catch {
      options.onUnreadable?.(sid);
    }
  }
  const ids = new Set([...found.keys(), ...(options.known?.keys() ?? [])]);
  return pageOf(ids, { touched: (id) => found.get(id)?.touched ?? null, row: (id) => found.get(id) ?? null }, options);
}

// --- internal ---

interface SessionRow {
  readonly sid: string;
  readonly summary: string;
  readonly touched: number;
  /** Whether a live node holds it. */
  readonly held: boolean;
}

/** Matching rows: a page and one row more, excluding sessions that the caller already holds. */
function listRows(sql: Sql, { known, limit, ...asked }: ListOptions<object>): Promise<SessionRow[]> {
  const key = asked.order === "touched" ? part`touched` : part`coalesce(created, touched)`;
  const place = asked.after === undefined ? null : parsePageEnd(asked.after);
  return sql<SessionRow>`
    SELECT sid, summary, touched, ${isHeld} AS held
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

/** PostgreSQL text cannot hold NUL; compare it as U+FFFD. */
function textOf(value: unknown): string | null {
  return typeof value === "string" ? Buffer.from(value).toString().replaceAll("\0", "\uFFFD") : null;
}
