/** Finds sessions that contain a text, and its first place in each. */
import { createJoin } from "@chimera/acp-schema/conversation";
import { isLost, type SessionEvent, type SessionRecord } from "@chimera/acp-schema/events";
import type { LogEntry } from "@chimera/event-store";

export interface SearchHit {
  readonly session_id: string;
  readonly title: string;
  readonly turn: number | null;
  readonly type: string;
  readonly excerpt: string;
}

/**
 * Reads the sessions one by one in the given order, and yields the first place of the text, in any case, in each; null for a session
 * without it, and for one that cannot be read: it may be deleted or damaged meanwhile, and the others are searched all the same.
 *
 * @example
 * for await (const hit of searchSessions(store, sessions, "undo")) if (hit) console.log(hit.session_id);
 */
export async function* searchSessions(
  logs: { read(id: string): AsyncIterable<LogEntry<SessionEvent>> },
  sessions: readonly { readonly id: string; readonly summary: { readonly title?: string | null } }[],
  text: string,
): AsyncGenerator<SearchHit | null> {
  const needle = text.trim().toLowerCase();
  for (const { id, summary } of sessions) {
    const found = await findIn(logs.read(id), needle).catch((error: { readonly code?: unknown } | null) => {
      if (OF_ONE_SESSION.has(error?.code)) return null;
      throw error;
    });
    yield found && { session_id: id, title: summary.title ?? "", ...found };
  }
}

// --- internal ---

/** Characters to show before and after a match. */
const AROUND = 50;

/** The codes of errors that say something of one session only. `session_not_found` is that of logs which are limited to a person. */
const OF_ONE_SESSION: ReadonlySet<unknown> = new Set([
  "not_found",
  "session_not_found",
  "damaged",
  "unsupported_format",
  "io",
  "read_only",
]);

type Found = Pick<SearchHit, "turn" | "type" | "excerpt">;

/** The first match. Deltas are joined first, so that a match may span several. */
async function findIn(entries: AsyncIterable<LogEntry<SessionEvent>>, needle: string): Promise<Found | null> {
  const join = createJoin();
  const look = (joined: ReturnType<typeof join.push>): Found | null => {
    for (const record of joined) {
      if (isLost(record)) continue;
      const { turn, type } = record;
      const excerpt = excerptOf(wordsOf(record), needle);
      if (excerpt !== null) return { turn, type, excerpt };
    }
    return null;
  };
  for await (const entry of entries) {
    const found = look(join.push(isLost(entry) ? entry : entry.event));
    if (found) return found;
  }
  return look(join.end());
}

/** The text that a person would remember: prompts, answers, titles and results. */
function wordsOf(record: SessionRecord): string {
  switch (record.type) {
    case "user_message":
    case "text_delta":
      return record.metadata.text;
    case "tool_call":
    case "title_changed":
      return record.metadata.title;
    case "tool_result":
      return record.metadata.output;
    default:
      return "";
  }
}

function excerptOf(text: string, needle: string): string | null {
  const at = text.toLowerCase().indexOf(needle);
  if (at < 0) return null;
  const from = Math.max(0, at - AROUND);
  const to = at + needle.length + AROUND;
  const excerpt = text.slice(from, to).replace(/\s+/g, " ");
  return `${from > 0 ? "…" : ""}${excerpt}${to < text.length ? "…" : ""}`;
}
