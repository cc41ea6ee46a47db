/** Records with the deltas of one block joined, under the number of the last; an unstreamed answer comes as a text. */

import { createGrowingText } from "../define/text.js";
import { createUpgrade, isLost, type Lost } from "./entry.js";
import { asShown } from "./parts.js";
import type { RecordOf, SessionRecord } from "./record.js";

/** A block longer than this comes as several records, so that no reader gets a frame of megabytes. */
const BLOCK_CHARS = 128 * 1024;

type Delta = RecordOf<"text_delta" | "thought_delta">;

/** One that joins several says which of them was the first. */
export type JoinedRecord = SessionRecord & { readonly began?: number };

/** One per log. */
export type Join = ReturnType<typeof createJoin>;

export function createJoin() {
  const upgrade = createUpgrade();
  /** The last delta of the block that is being joined. */
  let open: Delta | null = null;
  let began = 0;
  const text = createGrowingText();
  let size = 0;
  /** The turn that spoke last. Not since the last prompt: the next one may come while a turn still speaks. */
  let spoken: number | null = null;

  const end = (): JoinedRecord[] => {
    if (!open) return [];
    const joined = { ...open, began, metadata: { text: text.take() } };
    open = null;
    size = 0;
    return [joined];
  };
  const grow = (delta: Delta): JoinedRecord[] => {
    const { length } = delta.metadata.text;
    const isNew = open && (open.type !== delta.type || open.turn !== delta.turn || size + length > BLOCK_CHARS);
    const complete = isNew ? end() : [];
    if (!open) began = delta.seq;
    open = delta;
    text.add(delta.metadata.text);
    size += length;
    return complete;
  };

  return {
    /** Returns what is left when the log has been read. */
    end,
    /** Takes the next entry of the log and returns what is complete with it. */
    push(logged: SessionRecord | Lost) {
      // Lost records do not end a block: the deltas around them are one text.
      if (isLost(logged)) return [logged];
      const record = upgrade(logged);
      if (!record) return [];
      if (record.type === "text_delta") spoken = record.turn;
      if (record.type === "text_delta" || record.type === "thought_delta") return grow(record);
      const complete = end();
      if (record.type === "agent_result" && record.turn !== spoken && record.metadata.output !== "")
        complete.push({ ...record, type: "text_delta", metadata: { text: record.metadata.output } });
      complete.push(asShown(record));
      return complete;
    },
  };
}
