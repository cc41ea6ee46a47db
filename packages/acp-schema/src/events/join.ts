/** Joins the deltas of each block into one record with the number of the last, and gives an unstreamed answer a text record. */

import { createGrowingText } from "../define/text.js";
import { createUpgrade, isLost, type Lost } from "./entry.js";
import { asShown } from "./parts.js";
import type { RecordOf, SessionRecord } from "./record.js";

/** A longer block becomes several records, so that no reader gets a frame of megabytes. */
const BLOCK_CHARS = 128 * 1024;

type Delta = RecordOf<"text_delta" | "thought_delta">;

/** A joined record names its first record in `began`. */
export type JoinedRecord = SessionRecord & { readonly began?: number };

export type Join = ReturnType<typeof createJoin>;

/**
 * A fold that joins deltas as they come.
 *
 * @example
 * const join = createJoin();
 * const whole = [...log.flatMap((record) => join.push(record)), ...join.end()];
 */
export function createJoin() {
  const upgrade = createUpgrade();
  /** The last delta of the unfinished block. */
  let open: Delta | null = null;
  let began = 0;
  const text = createGrowingText();
  let size = 0;
  /** The turn of the last text. It is not reset by a prompt, because the next prompt may arrive while a turn still streams its text. */
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
    /** Returns the unfinished block after the last record of the log. */
    end,
    /** Takes the next entry of the log and returns the records that are complete now. */
    push(logged: SessionRecord | Lost) {
      // Lost records do not end a block, because the deltas around them are one text.
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
