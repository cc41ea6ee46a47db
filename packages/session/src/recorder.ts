/** Makes records of a session's events. Text that arrives in one tick becomes one record. */
import { type AgentEvent, endsTurn, type SessionEvent } from "@chimera/acp-schema/events";
import type { Appended, Entry, LogWriter } from "@chimera/event-store";
import { limits } from "./limits.js";

export interface Recorder {
  /** Appends in the order of the calls. Text may wait for the end of the tick. */
  add(event: AgentEvent, attribution: Attribution): void;
  /** Appends at once, after the text that waits, and returns the record. */
  write(event: AgentEvent, attribution: Attribution): Entry<SessionEvent>;
  /** Appends several in one write: all of them reach the log, or none. Returns the last record. */
  writeAll(events: readonly AgentEvent[], attribution: Attribution): Entry<SessionEvent> | undefined;
  /** Forgets the text that waits and how much calls have streamed, after a failed write. */
  reset(): void;
}

/** The turn that a record belongs to, and the client that caused it. */
export interface Attribution {
  readonly turn: number | null;
  readonly origin?: string | undefined;
}

/** The body of the record of an event. */
export function bodyOf({ type, metadata }: AgentEvent, { turn, origin }: Attribution): SessionEvent {
  const body = { type, turn, metadata } as SessionEvent;
  if (origin !== undefined) body.origin = origin;
  return body;
}

export function createRecorder(deps: {
  readonly writer: LogWriter<SessionEvent>;
  /** Called with the records that were appended, in order. */
  readonly onRecords: (records: readonly SessionEvent[]) => void;
  /** Throws after a failed write, until the log was read again. */
  readonly guard: () => void;
  /** Called with the error of a failed append, before it is thrown. */
  readonly onFault: (error: unknown) => void;
  /** Joins the gathered deltas into as few records as they fit in. */
  readonly coalesce: boolean;
}): Recorder {
  const append = (bodies: readonly SessionEvent[]): readonly Entry<SessionEvent>[] => {
    deps.guard();
    let entries: readonly Appended<SessionEvent>[];
    try {
      entries = deps.writer.append(bodies);
    } catch (error) {
      deps.onFault(error);
      throw error;
    }
    // `entry.event` is made only for these types: it costs time for each delta, and the fold needs times only where turns begin and end.
    deps.onRecords(entries.map((entry) => (boundsTurn(entry.type) ? entry.event : entry.body)));
    return entries;
  };
  const deltas = createDeltas(append, deps.coalesce);
  const progress = createProgress();

  const write = (event: AgentEvent, attribution: Attribution): Entry<SessionEvent> => {
    deltas.flush();
    const dropped = event.type === "tool_result" ? progress.end(event.metadata.call_id) : 0;
    const own = bodyOf(event, attribution);
    if (event.type !== "tool_result" || dropped === 0) return append([own])[0]!;
    const chunk = `\n[${dropped} more bytes not logged]\n`;
    const left = {
      type: "tool_progress",
      metadata: { call_id: event.metadata.call_id, stream: "stdout", chunk },
    } as const;
    return append([bodyOf(left, attribution), own])[1]!;
  };

  return {
    write,
    writeAll(events, attribution) {
      deltas.flush();
      return append(events.map((event) => bodyOf(event, attribution))).at(-1);
    },
    reset() {
      deltas.reset();
      progress.reset();
    },
    add(event, attribution) {
      if (event.type === "tool_progress" && progress.isOver(event.metadata.call_id, event.metadata.chunk)) return;
      if (event.type === "text_delta" || event.type === "thought_delta") deltas.add(event, attribution);
      else write(event, attribution);
    },
  };
}

// --- internal ---

type DeltaBody = Extract<SessionEvent, { type: "text_delta" | "thought_delta" }>;

/** Text deltas that wait for the end of their tick. */
function createDeltas(append: (bodies: readonly SessionEvent[]) => unknown, coalesce: boolean) {
  let waiting: DeltaBody[] = [];
  /** The first half of a surrogate pair at the end of the text. The other half may come with the next piece, in a later tick. */
  let half: DeltaBody | null = null;
  let scheduled = false;
  const writeWaiting = (): void => {
    if (waiting.length === 0) return;
    const bodies = waiting;
    waiting = [];
    append(bodies);
  };
  const gather = (body: DeltaBody): void => {
    const last = waiting.at(-1);
    const { text } = body.metadata;
    if (coalesce && last?.type === body.type && last.metadata.text.length + text.length <= limits.deltaChars) {
      last.metadata.text += text;
      return;
    }
    if (waiting.length >= limits.deltasPerWrite) writeWaiting();
    waiting.push(body);
  };
  const gatherHalf = (): void => {
    if (half) gather(half);
    half = null;
  };
  const writeAtEndOfTick = (): void => {
    scheduled = false;
    try {
      writeWaiting();
    } catch {
      // Reported already. The next record of the turn throws the same error.
    }
  };
  return {
    flush(): void {
      gatherHalf();
      writeWaiting();
    },
    reset() {
      waiting = [];
      half = null;
    },
    add(
      { type, metadata }: Extract<AgentEvent, { type: "text_delta" | "thought_delta" }>,
      attribution: Attribution,
    ): void {
      const deltaOf = (text: string): DeltaBody => bodyOf({ type, metadata: { text } }, attribution) as DeltaBody;
      if (half?.type !== type) gatherHalf();
      const given = half ? half.metadata.text + metadata.text : metadata.text;
      half = isCut(given) ? deltaOf(given.slice(-1)) : null;
      const text = half ? given.slice(0, -1) : given;
      if (text !== "" || !half) for (const piece of piecesOf(text, limits.recordChars)) gather(deltaOf(piece));
      if (scheduled) return;
      scheduled = true;
      // Runs after the agent has handled one chunk from the network, and before the event loop continues.
      process.nextTick(writeAtEndOfTick);
    },
  };
}

/** Counts the output that each running call has streamed. Output beyond the limit is not logged. */
function createProgress() {
  const streamed = new Map<string, { bytes: number; dropped: number }>();
  return {
    isOver(callId: string, chunk: string): boolean {
      const seen = streamed.get(callId) ?? { bytes: 0, dropped: 0 };
      streamed.set(callId, seen);
      const size = Buffer.byteLength(chunk);
      const isOver = seen.bytes + size > limits.progressBytes;
      seen[isOver ? "dropped" : "bytes"] += size;
      return isOver;
    },
    /** Forgets a call that has its result. Returns how many of its bytes were not logged. */
    end(callId: string): number {
      const dropped = streamed.get(callId)?.dropped ?? 0;
      streamed.delete(callId);
      return dropped;
    },
    reset: () => streamed.clear(),
  };
}

function boundsTurn(type: string): boolean {
  return type === "user_message" || endsTurn(type);
}

/** Whether the text ends with the first half of a surrogate pair. Clients and models cut texts by UTF-16 units, so they may also cut a pair in two. */
function isCut(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last < 0xdc00;
}

/** The text in pieces of at most `length` units, cut between characters. */
function piecesOf(text: string, length: number): readonly string[] {
  if (text.length <= length) return [text];
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    const most = text.slice(start, start + length);
    const piece = start + length < text.length && isCut(most) ? most.slice(0, -1) : most;
    pieces.push(piece);
    start += piece.length;
  }
  return pieces;
}
