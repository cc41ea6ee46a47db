/**
 * The visible conversation as records: what `session/load` replays. Undone and cleared turns are left out and the deltas of
 * one block are one record again; everything else is as it was logged.
 */
import type { RecordOf, SessionEvent, SessionRecord } from "@chimera/acp-schema/events";
import type { Entry } from "@chimera/event-store";

type Delta = RecordOf<"text_delta" | "thought_delta">;

export async function* visibleRecords(
  entries: AsyncIterable<Entry<SessionEvent>>,
  hidden: ReadonlySet<number>,
): AsyncIterable<SessionRecord> {
  let block: Delta[] = [];
  for await (const { event } of entries) {
    if (event.turn !== null && hidden.has(event.turn)) continue;
    const open = block[0];
    if (isDelta(event)) {
      if (open && (open.type !== event.type || open.turn !== event.turn)) {
        yield join(block);
        block = [];
      }
      block.push(event);
      continue;
    }
    if (open) yield join(block);
    block = [];
    yield event;
  }
  if (block.length > 0) yield join(block);
}

// --- internal ---

function isDelta(record: SessionRecord): record is Delta {
  return record.type === "text_delta" || record.type === "thought_delta";
}

/** One record for the whole block, under the number of its last delta. */
function join(block: readonly Delta[]): SessionRecord {
  const text = block.map((delta) => delta.metadata.text).join("");
  return { ...block.at(-1)!, metadata: { text } };
}
