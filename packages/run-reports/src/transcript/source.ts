import { isLost, type Lost, type SessionEvent, type SessionRecord } from "@chimera/acp-schema/events";
import { type EventStore, isStoreError } from "@chimera/event-store";
import { ReportError } from "../errors.js";

/** A session to render: its summary, and its records in order, which can be read once. */
export interface TranscriptSource {
  readonly id: string;
  readonly summary: object | null;
  readonly events: AsyncIterable<SessionRecord | Lost>;
}

/** The part of a store that a transcript needs. */
export type LogStore = Pick<EventStore<SessionEvent, object>, "read" | "readSummary" | "lastSeq">;

/**
 * Opens a session as a source. Its log is read while the transcript is rendered. Throws ReportError `not_found`.
 *
 * @example
 * const source = await openTranscript(store, "otter-20260425T120300-aaaa1111");
 */
export async function openTranscript(store: LogStore, id: string): Promise<TranscriptSource> {
  const summary = await orNull(store.readSummary(id));
  if (summary === null) throw new ReportError("not_found", `no session ${JSON.stringify(id.slice(0, 140))}`);
  const count = await store.lastSeq(id);
  return { id, summary, events: records(store, id, count) };
}

// --- internal ---

const ABSENT = new Set(["not_found", "invalid_id"]);

async function orNull<T>(found: Promise<T | null>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (isStoreError(error) && ABSENT.has(error.code)) return null;
    throw error;
  }
}

async function* records(store: LogStore, id: string, to: number): AsyncGenerator<SessionRecord | Lost> {
  for await (const entry of store.read(id, { to })) yield isLost(entry) ? entry : (entry.event as SessionRecord);
}
