import { StoreError } from "../errors.js";
import { LIMITS } from "../limits.js";
import type { Entry, EventBody } from "../types.js";
import { AppendedEntry } from "./entry.js";
import { blankLine, lineTail, sealLine, verifiedSeq } from "./line.js";

/** Numbers and encodes a batch, all of it or nothing: a body that cannot be encoded throws before any number is taken. */
export function encodeBatch<E extends EventBody>(
  events: readonly E[],
  lastSeq: number,
  stamp: () => string,
): AppendedEntry<E>[] {
  if (events.length === 0) throw new StoreError("empty_batch", "an append needs at least one event");
  const ts = stamp();
  const entries: AppendedEntry<E>[] = [];
  for (const event of events) {
    entries.push(new AppendedEntry(lastSeq + entries.length + 1, lineTail(encodeBody(event), ts), event));
  }
  return entries;
}

/**
 * The lines of entries as bytes, for a backend that keeps bytes. An appended entry gets its checksum here, from the bytes: nobody
 * computes it a second time. They hold until the next call.
 */
export function encodeLines(entries: readonly Entry<EventBody>[]): Buffer {
  let text = "";
  const ends: number[] = [];
  for (const entry of entries) {
    text += `${entry instanceof AppendedEntry ? blankLine(entry.seq, entry.tail) : entry.line}\n`;
    ends.push(text.length - 1);
  }
  const bytes = toBytes(text);
  // Characters tell where a line ends only while each of them is one byte.
  const isPlain = bytes.length === text.length;
  let start = 0;
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i]!;
    const end = isPlain ? ends[i]! : bytes.indexOf(LF, start);
    if (entry instanceof AppendedEntry) entry.checksum = sealLine(bytes, start, end, entry.seq);
    start = end + 1;
  }
  return bytes;
}

/** The entry as it stands in a segment: a record of another layout gets our line, with its number and time kept. */
export function withChecksum<E extends EventBody>(entry: Entry<E>): Entry<E> {
  const bytes = Buffer.from(entry.line);
  if (verifiedSeq(bytes, 0, bytes.length) === entry.seq) return entry;
  return new AppendedEntry(entry.seq, lineTail(encodeBody(entry.event), entry.event.ts), entry.event);
}

/**
 * A clock whose ISO time stamps never decrease within one log, nor below its last record's. Formatting costs more than all
 * else in a short append, so the text is kept for its millisecond.
 */
export function createStamp(clock: () => number, last = ""): () => string {
  let millisecond = ISO_MS.test(last) ? Date.parse(last) : 0;
  // Made anew: the text it comes from is a piece of all that was read with it, and would hold on to that.
  let text = millisecond > 0 ? new Date(millisecond).toISOString() : "";
  return () => {
    const time = clock();
    if (time > millisecond || text === "") {
      millisecond = time;
      text = new Date(time).toISOString();
    }
    return text;
  };
}

// --- internal ---

const ISO_MS = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

const LF = 10;
/** One piece of memory per process spares an allocation per write. */
const scratch = Buffer.allocUnsafeSlow(4 * LIMITS.writeBytes);

function toBytes(text: string): Buffer {
  return text.length * 3 > scratch.length ? Buffer.from(text) : scratch.subarray(0, scratch.write(text));
}

/** The event's JSON: an object's, with at least one key. */
function encodeBody(event: EventBody): string {
  if (typeof event !== "object" || event === null || typeof event.type !== "string") {
    throw new StoreError("invalid_event", "an event is an object with a string `type`");
  }
  let text: string;
  try {
    // A record taken from another log brings its own stamps; this log gives new ones.
    const copied = "seq" in event || "id" in event || "ts" in event;
    text = JSON.stringify(copied ? { ...event, seq: undefined, id: undefined, ts: undefined } : event);
  } catch (cause) {
    throw new StoreError("invalid_event", "the event cannot be written as JSON", { cause });
  }
  if (!text?.startsWith('{"')) throw new StoreError("invalid_event", "the event is not written as a JSON object");
  if (text.length > LIMITS.recordBytes) {
    throw new StoreError(
      "too_large",
      `an event of ${text.length} characters is over the limit of ${LIMITS.recordBytes}`,
    );
  }
  return text;
}
