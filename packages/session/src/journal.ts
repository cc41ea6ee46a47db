/**
 * Writes the log of a session. The conversation is always the fold of the log: after a failed write, nothing is written until the log was
 * read again, and the first write that succeeds ends the turns that were cut short.
 */
import type { Conversation } from "@chimera/acp-schema/conversation";
import type { AgentEvent, SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { type EventStore, isStoreError, type LogWriter } from "@chimera/event-store";
import type { Attachments } from "./attachments.js";
import { namedError } from "./errors.js";
import { foldLog } from "./logs.js";
import { type Attribution, createRecorder, type Recorder } from "./recorder.js";
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

/**
 * The state after a failed write: nothing is written until the log was read again. Every attempt to write tries to read it.
 *
 * @param deps.id the session, which errors name
 */
function createFault(deps: {
  readonly id: string;
  readonly onFault: (error: unknown) => void;
  /** Reads the log again. */
  readonly reread: () => Promise<void>;
  /** Called when the log was read and may be written again. */
  readonly onSound: (error: unknown) => void;
}) {
  let fault: { readonly error: unknown } | null = null;
  let healing: Promise<void> | null = null;
  const reread = async (error: unknown): Promise<void> => {
    await deps.reread();
    fault = null;
    deps.onSound(error);
  };
  const heal = (error: unknown): void => {
    healing ??= reread(error)
      // The log cannot be read either. The next write tries again.
      .catch(() => {})
      .finally(() => {
        healing = null;
      });
  };
  /** Call this with the error of a failed write. */
  const report = (error: unknown): void => {
    // A malformed event is a mistake of its sender, and must not stop other writes.
    if (fault || !isStoreError(error) || error.code === "invalid_event" || error.code === "too_large") return;
    fault = { error };
    deps.onFault(error);
    heal(error);
  };
  return {
    report,
    /** The same promise with the session's own errors. A caller that does not wait for it still learns of a failed write, through the fault. */
    heard<W extends Promise<void> | null>(waiting: W): W {
      const reported = waiting?.catch((error) => {
        // A closed log has written everything.
        if (isStoreError(error) && error.code === "closed") return;
        report(error);
        throw namedError(error, deps.id);
      });
      reported?.catch(() => {});
      return (reported ?? null) as W;
    },
    /** Throws the error of the failed write until the log was read again. */
    guard(): void {
      if (!fault) return;
      heal(fault.error);
      throw fault.error;
    },
    healed: async () => healing,
  };
}
