/** Entries -> SSE bytes, once per batch however many readers it has. A record is one line of JSON, so no field can end it. */
import type { Entry, EventBody } from "@chimera/event-store";

const encoded = new WeakMap<readonly Entry<EventBody>[], Buffer>();

export function encodeBatch(batch: readonly Entry<EventBody>[]): Buffer {
  const known = encoded.get(batch);
  if (known) return known;
  let text = "";
  for (const { seq, type, line } of batch) text += `id: ${seq}\nevent: ${type}\ndata: ${line}\n\n`;
  const bytes = Buffer.from(text);
  encoded.set(batch, bytes);
  return bytes;
}
