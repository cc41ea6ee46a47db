import { StoreError } from "./errors.js";
import { sessionPrefix, sessionTime } from "./session-id.js";
import type { ListedSession, ListOptions } from "./types.js";

/** Looks a session up; null when it is gone, or its summary cannot be read. */
export interface RowSource<S> {
  /** What a row costs without its summary. */
  touched(id: string): number | null;
  row(id: string): ListedSession<S> | null;
}

/**
 * Filters, orders (newest first, ties by id) and cuts one page, looking up no more rows than it must. A page ends at a place
 * in the order, not at an offset, so sessions that come and go between pages neither repeat nor hide others.
 */
export function pageOf<S>(
  ids: Iterable<string>,
  source: RowSource<S>,
  { prefixes, since, order = "created", limit = Number.POSITIVE_INFINITY, after }: ListOptions,
): { sessions: ListedSession<S>[]; next: string | null } {
  const start = after === undefined ? null : parsePlace(after);
  const keyed: Place[] = [];
  for (const id of ids) {
    if (prefixes !== undefined && !prefixes.includes(sessionPrefix(id))) continue;
    // An id chosen by a person says no time: its last write stands in.
    let created = sessionTime(id);
    if (Number.isNaN(created)) created = source.touched(id) ?? 0;
    if (since !== undefined && created < since) continue;
    const place: Place = [order === "touched" ? (source.touched(id) ?? 0) : created, id];
    if (start === null || comparePlaces(place, start) > 0) keyed.push(place);
  }
  keyed.sort(comparePlaces);
  const sessions: ListedSession<S>[] = [];
  let last: Place | null = null;
  for (const place of keyed) {
    const row = source.row(place[1]);
    if (row === null) continue;
    if (sessions.length >= limit) return { sessions, next: last === null ? null : formatPlace(last) };
    sessions.push(row);
    last = place;
  }
  return { sessions, next: null };
}

// --- internal ---

type Place = readonly [key: number, id: string];

function comparePlaces(a: Place, b: Place): number {
  return b[0] - a[0] || (a[1] < b[1] ? 1 : a[1] > b[1] ? -1 : 0);
}

function formatPlace(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

function parsePlace(text: string): Place {
  try {
    const place: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    if (Array.isArray(place) && typeof place[0] === "number" && typeof place[1] === "string") {
      return [place[0], place[1]];
    }
  } catch {
    // Reported below, like every other text that is not a cursor of ours.
  }
  throw new StoreError("invalid_id", "not a page cursor of this store");
}
