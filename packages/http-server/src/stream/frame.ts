/** Entries -> SSE bytes. */
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { LogEntry } from "@chimera/event-store";

export type Batch = readonly LogEntry<SessionEvent>[];

/** Formats one event of a stream. Fields contain no line ends, so that no text can end an event or begin another. */
export function frame(id: number | string | null, event: string, data: string): string {
  return `${id === null ? "" : `id: ${id}\n`}event: ${oneLine(event)}\ndata: ${oneLine(data)}\n\n`;
}

export type Encoder = ReturnType<typeof createEncoder>;

export function createEncoder(project: (entry: LogEntry<SessionEvent>) => string) {
  const encoded = new WeakMap<Batch, Buffer>();
  return {
    /** Encodes a batch once for all streams that keep up: they are given the same batch. */
    shared(batch: Batch) {
      const known = encoded.get(batch);
      if (known) return known;
      let text = "";
      for (const entry of batch) text += project(entry);
      const bytes = Buffer.from(text);
      encoded.set(batch, bytes);
      return bytes;
    },
    /** Encodes a batch into this memory, or into new memory if it does not fit. */
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

/** Replaces line ends. This program writes none into a record, but a log may have been edited or made elsewhere. */
function oneLine(text: string): string {
  return text.includes("\n") || text.includes("\r") ? text.replace(/[\r\n]+/g, " ") : text;
}
