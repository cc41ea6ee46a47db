/** Entries -> SSE bytes. */
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { LogEntry } from "@chimera/event-store";

export type Batch = readonly LogEntry<SessionEvent>[];

/** One record of a stream. A field never holds a line end, so no text of anybody can end a record or begin another. */
export function frame(id: number | string | null, event: string, data: string): string {
  return `${id === null ? "" : `id: ${id}\n`}event: ${oneLine(event)}\ndata: ${oneLine(data)}\n\n`;
}

export type Encoder = ReturnType<typeof createEncoder>;

export function createEncoder(project: (entry: LogEntry<SessionEvent>) => string) {
  const encoded = new WeakMap<Batch, Buffer>();
  return {
    /** Encoded once however many streams are given this batch, as all are that keep up. */
    shared(batch: Batch) {
      const known = encoded.get(batch);
      if (known) return known;
      let text = "";
      for (const entry of batch) text += project(entry);
      const bytes = Buffer.from(text);
      encoded.set(batch, bytes);
      return bytes;
    },
    /** Encoded into the memory when it has room, else into more of it. */
    into(memory: Buffer, batch: Batch) {
      const frames = batch.map(project);
      const size = frames.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      const bytes = size <= memory.length ? memory.subarray(0, size) : Buffer.allocUnsafeSlow(size);
      let at = 0;
      for (const text of frames) at += bytes.write(text, at);
      return bytes;
    },
  };
}

// --- internal ---

/** Lines that this program writes hold no line end; a log that was edited or made elsewhere may. */
function oneLine(text: string): string {
  return text.includes("\n") || text.includes("\r") ? text.replace(/[\r\n]+/g, " ") : text;
}
