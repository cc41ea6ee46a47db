/**
 * The visible conversation as records: what `session/load` replays. Undone and cleared turns are left out, the deltas of one
 * block are one record again, and an answer that was never streamed comes with its result; everything else is as it was logged.
 */
import { isLost, type Lost, type RecordOf, type SessionEvent, type SessionRecord } from "@chimera/acp-schema/events";
import { withoutSeal } from "@chimera/acp-schema/parts";
import type { LogEntry } from "@chimera/event-store";
import { createOlderReader } from "./older-log.js";

/** A block longer than this comes as several records, so that no reader gets a frame of megabytes. */
const BLOCK_CHARS = 128 * 1024;

type Delta = RecordOf<"text_delta" | "thought_delta">;

export async function* visibleRecords(
  entries: AsyncIterable<LogEntry<SessionEvent>>,
  hidden: ReadonlySet<number>,
): AsyncIterable<SessionRecord | Lost> {
  let block: Delta[] = [];
  let size = 0;
  /** The turn that spoke last. Not since the last prompt: the next one may come while a turn still speaks. */
  let spoken: number | null = null;
  const older = createOlderReader();
  for await (const entry of entries) {
    // Lost records do not end a block: the deltas around them are one text.
    if (isLost(entry)) {
      yield entry;
      continue;
    }
    const event = older(entry.event);
    if (!event || (event.turn !== null && hidden.has(event.turn))) continue;
    if (event.type === "text_delta") spoken = event.turn;
    const open = block[0];
    if (isDelta(event)) {
      const { length } = event.metadata.text;
      if (open && (open.type !== event.type || open.turn !== event.turn || size + length > BLOCK_CHARS)) {
        yield join(block);
        block = [];
        size = 0;
      }
      block.push(event);
      size += length;
      continue;
    }
    if (open) yield join(block);
    block = [];
    size = 0;
    if (event.type === "agent_result" && event.turn !== spoken && event.metadata.output !== "")
      yield { ...event, type: "text_delta", metadata: { text: event.metadata.output } };
    yield withoutSeal(event);
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
