/**
 * A session's own end of the log. The conversation is always the fold of what the log took: when a write fails, nothing more is
 * written until the log was read again, and what the failure left unfinished is ended by the first write that succeeds.
 */
import type { Conversation } from "@chimera/acp-schema/conversation";
import type { AgentEvent, SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { type EventStore, isStoreError, type LogWriter } from "@chimera/event-store";
import type { Attachments } from "./attachments.js";
import { namedError } from "./errors.js";
import { interruptedTurn } from "./last-record.js";
import { foldLog } from "./logs.js";
import { createRecorder, type Place, type Recorder } from "./recorder.js";
import type { WorkQueue } from "./work-queue.js";

export interface Journal {
  readonly conversation: Conversation;
  readonly recorder: Recorder;
  /** Throws the session's own error from a failed write until the log was read again: the conversation is not what the log says. */
  requireSound(): void;
  /** Writes what a client asked for; resolves when it is durable. Throws the session's own errors. */
  accept(event: AgentEvent, place: Place): Promise<void>;
  /** Ends the turns that were cut short, but for the busy ones. Throws the session's own error while it cannot. */
  endInterrupted(busy: ReadonlySet<number>): void;
  /** Remembers that turns were cut short, and why; after an error of the store, resolves when the log was read again. */
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
  /** Set from a failed write until the log was read again. */
  let fault: { readonly error: unknown } | null = null;
  let rereading: Promise<void> | null = null;
  /** Why there are turns that nobody works on; null when there are none. */
  let cause: string | null = null;

  const reread = async (error: unknown): Promise<void> => {
    await queue.quiet();
    conversation = await foldLog(deps.store, writer.id);
    recorder.reset();
    fault = null;
    // A prompt that the log did not take never happened.
    queue.forget((turn) => !conversation.turns[turn]);
    deps.attachments.turnsLost(namedError(error, writer.id), queue.busy());
  };
  const heal = (error: unknown): Promise<void> => {
    rereading ??= reread(error)
      // A log that cannot be read either: the next write tries again.
      .catch(() => {})
      .finally(() => {
        rereading = null;
      });
    return rereading;
  };
  const onFault = (error: unknown): void => {
    if (fault || !isFault(error)) return;
    fault = { error };
    cause ??= messageOf(error);
    deps.onError(error);
    queue.abort();
    void heal(error);
  };
  const guard = (): void => {
    if (!fault) return;
    void heal(fault.error);
    throw fault.error;
  };
  const recorder = createRecorder({
    writer,
    coalesce: deps.coalesce,
    onFault,
    guard,
    onRecords(records) {
      for (const record of records) conversation.apply(record);
      deps.onRecords(records);
    },
  });
  /** A caller that does not wait for the disk learns of a failure from the fault. */
  const durable = (seq?: number): Promise<void> => {
    const waiting = writer.durable(seq).catch((error) => {
      onFault(error);
      throw namedError(error, writer.id);
    });
    waiting.catch(() => {});
    return waiting;
  };
  const named = <T>(write: () => T): T => namedBy(writer.id, write);
  return {
    get conversation() {
      return conversation;
    },
    recorder,
    requireSound: () => named(guard),
    accept: (event, place) => named(() => durable(recorder.write(event, place).seq)),
    endInterrupted(busy) {
      if (cause === null) return;
      named(() => endTurns(conversation, recorder, cause ?? "", busy));
      cause = null;
      void durable();
    },
    async interrupted(error) {
      cause = messageOf(error);
      onFault(error);
      await rereading;
    },
  };
}

// --- internal ---

/** Each turn ends in one write; those in `busy` run or wait. */
function endTurns(conversation: Conversation, recorder: Recorder, reason: string, busy: ReadonlySet<number>): void {
  for (const turn of conversation.turns) {
    // A prompt the log never took leaves a hole.
    if (!turn || turn.ended || busy.has(turn.number)) continue;
    recorder.writeAll(interruptedTurn(conversation, turn, reason), { turn: turn.number });
  }
}

function namedBy<T>(id: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw namedError(error, id);
  }
}

/** A malformed event is its author's mistake; it must not put the session into its fault state. */
function isFault(error: unknown): boolean {
  return isStoreError(error) && error.code !== "invalid_event" && error.code !== "too_large";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
