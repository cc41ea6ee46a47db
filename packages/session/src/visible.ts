/**
 * The visible conversation as records: what `session/load` replays. Undone and cleared turns are left out and the deltas of
 * one block are one record again; everything else is as it was logged.
 */
import type { SessionEvent, SessionRecord } from "@chimera/acp-schema/events";
import type { Entry } from "@chimera/event-store";

export async function* visibleRecords(
  entries: AsyncIterable<Entry<SessionEvent>>,
  hidden: ReadonlySet<number>,
): AsyncIterable<SessionRecord> {
  let joined: (SessionRecord & { type: "text_delta" | "thought_delta" }) | null = null;
  for await (const { event } of entries) {
    if (event.turn !== null && hidden.has(event.turn)) continue;
    if (event.type === "text_delta" || event.type === "thought_delta") {
      if (joined && joined.type === event.type && joined.turn === event.turn) {
        const metadata = { text: joined.metadata.text + event.metadata.text };
        joined = { ...event, metadata } as typeof joined;
        continue;
      }
      if (joined) yield joined;
      joined = event as typeof joined;
      continue;
    }
    if (joined) yield joined;
    joined = null;
    yield event;
  }
  if (joined) yield joined;
}
