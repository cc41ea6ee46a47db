/** Entries -> SSE bytes, encoded once per batch however many readers it has. */
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Entry } from "@chimera/event-store";

export type Batch = readonly Entry<SessionEvent>[];
export type Encode = (batch: Batch) => Buffer;

/** One record of a stream. A field never holds a line end, so no text of anybody can end a record or begin another. */
export function frame(id: number | null, event: string, data: string): string {
  return `${id === null ? "" : `id: ${id}\n`}event: ${oneLine(event)}\ndata: ${oneLine(data)}\n\n`;
}

export function createEncoder(project: (entry: Entry<SessionEvent>) => string): Encode {
  const encoded = new WeakMap<Batch, Buffer>();
  return (batch) => {
    const known = encoded.get(batch);
    if (known) return known;
    let text = "";
    for (const entry of batch) text += project(entry);
    const bytes = Buffer.from(text);
    encoded.set(batch, bytes);
    return bytes;
  };
}

// --- internal ---

/** Our own lines hold none; a log that was edited or made elsewhere may. */
function oneLine(text: string): string {
  return text.includes("\n") || text.includes("\r") ? text.replace(/[\r\n]+/g, " ") : text;
}
