import { StoreError } from "../errors.js";
import { LIMITS } from "../limits.js";
import type { Entry, EventBody } from "../types.js";
import { appendedEntry } from "./entry.js";
import { formatLine, verifiedSeq } from "./line.js";

/** Numbers and encodes a batch, all of it or nothing: a body that cannot be encoded throws before any number is taken. */
export function encodeBatch<E extends EventBody>(
  events: readonly E[],
  lastSeq: number,
  stamp: () => string,
): Entry<E>[] {
  if (events.length === 0) throw new StoreError("empty_batch", "an append needs at least one event");
  const bodies: string[] = [];
  for (const event of events) bodies.push(encodeBody(event));
  const ts = stamp();
  const entries: Entry<E>[] = [];
  for (let i = 0; i < events.length; i++) {
    const seq = lastSeq + 1 + i;
    entries.push(appendedEntry(seq, formatLine(seq, bodies[i]!, ts), events[i]!));
  }
  return entries;
}

/** The entry as it stands in a segment: a record of another layout gets our line, with its number and time kept. */
export function withChecksum<E extends EventBody>(entry: Entry<E>): Entry<E> {
  const bytes = Buffer.from(entry.line);
  if (verifiedSeq(bytes, 0, bytes.length) === entry.seq) return entry;
  return appendedEntry(entry.seq, formatLine(entry.seq, encodeBody(entry.event), entry.event.ts), entry.event);
}

// --- internal ---

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
  return text.slice(1, -1);
}
