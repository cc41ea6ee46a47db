import { StoreError } from "./errors.js";
import { sessionPrefix, sessionTime } from "./session-id.js";
import type { ListedSession, ListOptions } from "./types.js";

/** What listing needs to know of a session before its summary is looked at. */
export interface Listable {
  readonly id: string;
  readonly touched: number;
}

/** When a session was created: what its id says, else its last write. */
export function createdAt(item: Listable): number {
  const time = sessionTime(item.id);
  return Number.isNaN(time) ? item.touched : time;
}

/** True for an id that one of the prefixes (all, when none is given) covers. */
export function hasPrefix(id: string, prefixes: readonly string[] | undefined): boolean {
  return prefixes === undefined || prefixes.includes(sessionPrefix(id));
}

/**
 * Filters, orders (newest first, ties by id) and cuts one page. A page ends at a place in the order, not at an offset, so
 * sessions that come and go between pages neither repeat nor hide others.
 */
export function pageOf<S>(
  all: readonly ListedSession<S>[],
  { prefixes, since, order = "created", limit, after }: ListOptions,
): { sessions: ListedSession<S>[]; next: string | null } {
  const keyOf = order === "touched" ? (item: Listable) => item.touched : createdAt;
  const start = after === undefined ? null : parsePage(after);
  const rows = all
    .filter((item) => hasPrefix(item.id, prefixes) && (since === undefined || createdAt(item) >= since))
    .map((item) => ({ key: keyOf(item), item }))
    .filter((row) => start === null || comparePlaces([row.key, row.item.id], start) > 0)
    .sort((a, b) => comparePlaces([a.key, a.item.id], [b.key, b.item.id]));
  const page = limit === undefined ? rows : rows.slice(0, Math.max(0, limit));
  const last = page[page.length - 1];
  const more = last !== undefined && page.length < rows.length;
  return { sessions: page.map((row) => row.item), next: more ? formatPage([last.key, last.item.id]) : null };
}

// --- internal ---

type Place = readonly [key: number, id: string];

function comparePlaces(a: Place, b: Place): number {
  return b[0] - a[0] || (a[1] < b[1] ? 1 : a[1] > b[1] ? -1 : 0);
}

function formatPage(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

function parsePage(text: string): Place {
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
