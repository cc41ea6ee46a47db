import { setImmediate as nextTurn } from "node:timers/promises";
import { StoreError } from "../errors.js";
import { sessionPrefix, sessionTime } from "../session-id.js";
import type { ListedSession, ListFilter, ListOptions } from "../types.js";

/** Looks up sessions. Each answer is null when the session is gone or nothing of it can be read. */
export interface RowSource<S> {
  /** Epoch milliseconds of the last write, without reading the summary. */
  touched(id: string): number | null;
  row(id: string): ListedSession<S> | null | Promise<ListedSession<S> | null>;
}

/**
 * Filters, orders (newest first, ties by id) and cuts one page, looking up no more rows than it must. A cursor names a position
 * in the order, not an offset, so sessions that appear or disappear between pages neither repeat nor hide others.
 *
 * @example
 * const { sessions, next } = await pageOf(ids, { touched: (id) => times.get(id) ?? null, row: readRow }, { limit: 20 });
 */
export async function pageOf<S extends object>(
  ids: Iterable<string>,
  source: RowSource<S>,
  options: ListOptions<S>,
): Promise<{ sessions: ListedSession<S>[]; next: string | null }> {
  const { prefixes, since, order = "created", limit = Number.POSITIVE_INFINITY, after, known } = options;
  const start = after === undefined ? null : parsePageEnd(after);
  const touched = (id: string): number => known?.get(id)?.touched ?? source.touched(id) ?? 0;
  const keyed: PageEnd[] = [];
  for (const id of ids) {
    if (prefixes !== undefined && !prefixes.includes(sessionPrefix(id))) continue;
    // An id that a person chose contains no time, so the time of the last write is used.
    let created = sessionTime(id);
    if (Number.isNaN(created)) created = touched(id);
    if (since !== undefined && created < since) continue;
    const place: PageEnd = [order === "touched" ? touched(id) : created, id];
    if (start === null || comparePlaces(place, start) > 0) keyed.push(place);
  }
  keyed.sort(comparePlaces);
  const sessions: ListedSession<S>[] = [];
  let last: PageEnd | null = null;
  for (const [at, place] of keyed.entries()) {
    // A filter that fits few sessions looks up many.
    if (at % SLICE === SLICE - 1) await nextTurn();
    const found = known?.get(place[1]) ?? source.row(place[1]);
    const row = found instanceof Promise ? await found : found;
    if (row === null || !matches(row.summary, options)) continue;
    if (sessions.length >= limit) return { sessions, next: last === null ? null : formatPageEnd(last) };
    sessions.push(row);
    last = place;
  }
  return { sessions, next: null };
}

/** True for the summary of a session that had a prompt, and for a summary that does not count turns. */
export function isPrompted(summary: object): boolean {
  return (summary as { readonly turns?: unknown }).turns !== 0;
}

/** Where a page ends: the sort key and the id of its last row. */
export type PageEnd = readonly [key: number, id: string];

/**
 * Orders the newest first, and ties by id.
 *
 * @example
 * rows.sort((a, b) => comparePlaces([a.touched, a.id], [b.touched, b.id]));
 */
export function comparePlaces(a: PageEnd, b: PageEnd): number {
  return b[0] - a[0] || (a[1] < b[1] ? 1 : a[1] > b[1] ? -1 : 0);
}

/**
 * The text of a page end, for `after`.
 *
 * @example
 * const next = formatPageEnd([row.touched, row.id]);
 */
export function formatPageEnd(place: PageEnd): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

/**
 * Throws `invalid_id` for a text that is not a cursor of a page.
 *
 * @example
 * const [touched, id] = parsePageEnd(query.after);
 */
export function parsePageEnd(text: string): PageEnd {
  try {
    const place: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    if (Array.isArray(place) && typeof place[0] === "number" && typeof place[1] === "string") {
      return [place[0], place[1]];
    }
  } catch {
    // Reported below, like every other text that is not a cursor of this store.
  }
  throw new StoreError("invalid_id", "not a page cursor of this store");
}

// --- internal ---

/** Rows looked up between two turns of the event loop: about a millisecond of work. */
const SLICE = 200;

function matches(summary: object, { cwd, model, state, prompted, visibleTo, key, closed }: ListFilter): boolean {
  const fields = summary as Readonly<Record<string, unknown>>;
  if (cwd !== undefined && fields["cwd"] !== cwd) return false;
  if (model !== undefined && fields["model"] !== model) return false;
  if (state !== undefined && fields["state"] !== state) return false;
  if (prompted !== undefined && isPrompted(summary) !== prompted) return false;
  if (visibleTo !== undefined && fields["owner"] !== visibleTo && fields["shared"] !== true) return false;
  if (key !== undefined && fields["key"] !== key) return false;
  return closed === undefined || (fields["closed"] === true) === closed;
}
