/**
 * Writes the log of a session. Text that arrives in one tick becomes one record. The conversation is always the fold of the log: after a
 * failed write, nothing is written until the log was read again, and the first write that succeeds ends the turns that were cut short.
 */
import type { Conversation } from "@chimera/acp-schema/conversation";
import { type AgentEvent, endsTurn, type SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import type { Appended, Entry, EventStore, LogWriter } from "@chimera/event-store";
import type { Attachments } from "./attachments.js";
import { isCut, piecesOf } from "./cut-text.js";
import { namedError } from "./errors.js";
import { createFault } from "./fault.js";
import { limits } from "./limits.js";
import { foldLog } from "./logs.js";
import { interruptedTurn } from "./turn-run.js";
import type { WorkQueue } from "./work-queue.js";

export interface Journal {
  readonly conversation: Conversation;
  readonly recorder: Recorder;
  /** Throws the session's own error after a failed write, until the log was read again: the conversation may differ from the log. */
  requireSound(): void;
  /** Writes what a client asked for, in one write, all or nothing. Resolves when it is durable. Throws the session's own errors. */
  accept(events: AgentEvent | readonly AgentEvent[], attribution: Attribution): Promise<void>;
  /**
   * These call the writer. If a caller waits while a write fails, the writer gives the error to that caller, and the next append succeeds:
   * so each of them also puts the session into its fault state.
   */
  durable(seq?: number): Promise<void>;
  written(): Promise<void>;
  room(): Promise<void> | null;
  /** Records the end of turns that were cut short, except the busy ones. Throws the session's own error if the log cannot be written. */
  endInterrupted(busy: ReadonlySet<number>): void;
  /** Remembers that turns were cut short, and why. After an error of the store, resolves when the log was read again. */
  interrupted(cause: unknown): Promise<void>;
}

export interface JournalDeps {
  readonly writer: LogWriter<SessionEvent>;
  readonly store: EventStore<SessionEvent, Summary>;
  readonly conversation: Conversation;
  readonly coalesce: boolean;
  readonly queue: WorkQueue;
  readonly attachments: Attachments;
  /** Called with records that the conversation has folded. */
  readonly onRecords: (records: readonly SessionEvent[]) => void;
  readonly onError: (error: unknown) => void;
}

export function createJournal(deps: JournalDeps): Journal {
  const { writer, queue } = deps;
  let conversation = deps.conversation;
  /** Why turns were cut short. Null if there are none. */
  let cause: string | null = null;
  const fault = createFault({
    id: writer.id,
    onFault(error) {
      cause ??= messageOf(error);
      deps.onError(error);
      queue.abort();
    },
    async reread() {
      await queue.quiet();
      conversation = await foldLog(deps.store, writer.id);
      recorder.reset();
    },
    onSound(error) {
      // A prompt that the log did not take never happened.
      queue.forget((turn) => !conversation.turns[turn]);
      deps.attachments.turnsLost(namedError(error, writer.id), queue.busy());
    },
  });
  const recorder = createRecorder({
    writer,
    coalesce: deps.coalesce,
    onFault: fault.report,
    guard: fault.guard,
    onRecords(records) {
      for (const record of records) conversation.apply(record);
      deps.onRecords(records);
    },
  });
  const durable = (seq?: number): Promise<void> => fault.heard(writer.durable(seq));
  const named = <T>(write: () => T): T => {
    try {
      return write();
    } catch (error) {
      throw namedError(error, writer.id);
    }
  };
  return {
    get conversation() {
      return conversation;
    },
    recorder,
    requireSound: () => named(fault.guard),
    accept: (events, attribution) => named(() => durable(recorder.writeAll([events].flat(), attribution)?.seq)),
    durable,
    written: () => fault.heard(writer.written()),
    room: () => fault.heard(writer.room()),
    endInterrupted(busy) {
      if (cause === null) return;
      const { lastSeq } = writer;
      named(() => endTurns(conversation, recorder, cause ?? "", busy));
      cause = null;
      // Most sessions had no such turn, and then nothing was written and the disk has nothing to do.
      if (writer.lastSeq > lastSeq) void durable();
    },
    async interrupted(error) {
      cause ??= messageOf(error);
      fault.report(error);
      await fault.healed();
    },
  };
}

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

// --- internal ---

/** Records the end of every turn without one, except those in `busy`, which run or wait. One write for each turn. */
function endTurns(conversation: Conversation, recorder: Recorder, reason: string, busy: ReadonlySet<number>): void {
  for (const turn of conversation.turns) {
    // A prompt that could not be written leaves a gap in the numbers of turns.
    if (!turn || turn.ended || busy.has(turn.number)) continue;
    recorder.writeAll(interruptedTurn(conversation, turn, reason), { turn: turn.number });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

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

function createRecorder(deps: {
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
