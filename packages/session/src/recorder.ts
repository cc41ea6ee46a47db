/**
 * The one road into the log. Joins the text deltas of a tick, bounds what a tool may stream, and folds every record into
 * the session's history at the moment it gets its number.
 */
import type { AgentEvent, SessionEvent } from "@chimera/acp-schema/events";
import type { Entry, LogWriter } from "@chimera/event-store";
import { limits } from "./limits.js";

export interface Recorder {
  /** Appends, keeping the order of calls; text may wait for the end of the tick. */
  add(event: AgentEvent, place: Place): void;
  /** Appends at once, after whatever text waits, and returns the record. */
  write(event: AgentEvent, place: Place): Entry<SessionEvent>;
  /** Appends several in one write: all of them reach the log, or none. */
  writeAll(events: readonly AgentEvent[], place: Place): void;
  /** Forgets text that waits and what calls have streamed: the log did not take what came before. */
  reset(): void;
}

export interface Place {
  readonly turn: number | null;
  readonly origin?: string;
}

export function createRecorder(deps: {
  readonly writer: LogWriter<SessionEvent>;
  readonly onRecord: (record: SessionEvent) => void;
  /** Throws while nothing may be written. */
  readonly guard: () => void;
  /** Told when the log did not take a record, before the error is thrown. */
  readonly onFault: (error: unknown) => void;
  readonly coalesce: boolean;
}): Recorder {
  let waiting: { type: "text_delta" | "thought_delta"; text: string; place: Place } | null = null;
  let scheduled = false;
  const streamed = new Map<string, { bytes: number; dropped: number }>();

  const append = (bodies: readonly SessionEvent[]): readonly Entry<SessionEvent>[] => {
    deps.guard();
    let entries: readonly Entry<SessionEvent>[];
    try {
      entries = deps.writer.append(bodies);
    } catch (error) {
      deps.onFault(error);
      throw error;
    }
    // Not `entry.event`: it would be put together for every delta, and the number is no part of the history.
    for (const body of bodies) deps.onRecord(body);
    return entries;
  };
  const appendOne = (event: AgentEvent, place: Place): Entry<SessionEvent> => append([bodyOf(event, place)])[0]!;

  const flush = () => {
    if (!waiting) return;
    const { type, text, place } = waiting;
    waiting = null;
    appendOne({ type, metadata: { text } }, place);
  };

  const schedule = () => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      try {
        flush();
      } catch {
        // Told already; the turn's next record meets the same error.
      }
    });
  };

  /** True when the chunk is over the call's bound and only counts. */
  const overBound = (callId: string, chunk: string): boolean => {
    const seen = streamed.get(callId) ?? { bytes: 0, dropped: 0 };
    streamed.set(callId, seen);
    const size = Buffer.byteLength(chunk);
    if (seen.bytes + size <= limits.progressBytes) {
      seen.bytes += size;
      return false;
    }
    seen.dropped += size;
    return true;
  };

  const write = (event: AgentEvent, place: Place): Entry<SessionEvent> => {
    flush();
    if (event.type === "tool_result") {
      const dropped = streamed.get(event.metadata.call_id)?.dropped ?? 0;
      streamed.delete(event.metadata.call_id);
      if (dropped > 0) {
        const chunk = `\n[${dropped} more bytes not logged]\n`;
        appendOne(
          { type: "tool_progress", metadata: { call_id: event.metadata.call_id, stream: "stdout", chunk } },
          place,
        );
      }
    }
    return appendOne(event, place);
  };

  return {
    write,
    writeAll(events, place) {
      flush();
      append(events.map((event) => bodyOf(event, place)));
    },
    reset() {
      waiting = null;
      streamed.clear();
    },
    add(event, place) {
      if (event.type === "tool_progress" && overBound(event.metadata.call_id, event.metadata.chunk)) return;
      const isText = event.type === "text_delta" || event.type === "thought_delta";
      if (isText && event.metadata.text.length > limits.recordChars) {
        for (const text of pieces(event.metadata.text)) write({ type: event.type, metadata: { text } }, place);
        return;
      }
      if (!deps.coalesce || !isText) {
        write(event, place);
        return;
      }
      const { text } = event.metadata;
      if (waiting && (waiting.type !== event.type || waiting.text.length + text.length > limits.deltaChars)) flush();
      if (waiting) waiting.text += text;
      else waiting = { type: event.type, text, place };
      schedule();
    },
  };
}

// --- internal ---

function bodyOf({ type, metadata }: AgentEvent, { turn, origin }: Place): SessionEvent {
  const body = { type, turn, metadata } as SessionEvent;
  if (origin !== undefined) body.origin = origin;
  return body;
}

/** A text too long for one record, cut between characters. */
function* pieces(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + limits.recordChars, text.length);
    const code = text.charCodeAt(end - 1);
    if (end < text.length && code >= 0xd800 && code <= 0xdbff) end--;
    yield text.slice(start, end);
    start = end;
  }
}
