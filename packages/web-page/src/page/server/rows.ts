/** All sessions, newest first, as of the last read of the list. */
import type { SessionRow } from "@chimera/acp-schema/http";
import { computed, signal } from "@preact/signals-core";
import { client } from "./client.js";
import { announce } from "./notify.js";

const FLUSH_MS = 50;

const byId = signal<ReadonlyMap<string, SessionRow>>(new Map());
/** Whether the first page has come. */
export const isListed = signal(false);
/** Leads to the next page; null on the last one. */
export const nextPage = signal<string | null>(null);

export const rows = computed(() =>
  [...byId.value.values()].sort((a, b) => (b.last_touched ?? 0) - (a.last_touched ?? 0)),
);
/** Every unanswered question, with its session. */
export const waiting = computed(() =>
  rows.value.flatMap((row) => [...row.permissions, ...row.questions].map((asked) => ({ row, asked }))),
);

export function rowOf(id: string): SessionRow | undefined {
  return byId.value.get(id);
}

let changes = new Map<string, SessionRow | null>();
let isDue = false;

/** @param row null when the session is gone. */
export function changeRow(id: string, row: SessionRow | null): void {
  changes.set(id, row);
  if (!isDue) setTimeout(flush, FLUSH_MS);
  isDue = true;
}

/** Reads the list: the first page, which also says what changed while there was no stream, or the one after `after`. */
export async function readRows(after?: string): Promise<void> {
  const { sessions, next } = await client.call("GET /sessions", {
    query: { limit: "50", ...(after !== undefined && { after }) },
  });
  const all = new Map(byId.peek());
  for (const row of sessions) {
    const known = all.get(row.session_id);
    // The stream may have brought newer rows meanwhile.
    if ((known?.last_touched ?? 0) <= (row.last_touched ?? 0)) all.set(row.session_id, row);
  }
  byId.value = all;
  if (after !== undefined || !isListed.peek()) nextPage.value = next;
  isListed.value = true;
}

// --- internal ---

function flush(): void {
  isDue = false;
  const all = new Map(byId.peek());
  for (const [id, row] of changes) {
    if (row) announce(all.get(id), row);
    if (row) all.set(id, row);
    else all.delete(id);
  }
  changes = new Map();
  byId.value = all;
}
