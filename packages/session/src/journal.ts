/**
 * A session's own end of the log. The history is always the fold of what the log took: when a write fails, nothing more is
 * written until the log was read back, and what the failure left open is ended by the first write that succeeds.
 */
import type { AgentEvent, SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { type EventStore, isStoreError, type LogWriter } from "@chimera/event-store";
import { createHistory, type History } from "./history.js";
import { createRecorder, type Place, type Recorder } from "./recorder.js";
import { repair } from "./repair.js";
import { namedError } from "./storage-error.js";

export interface Journal {
  readonly history: History;
  readonly recorder: Recorder;
  /** Writes what somebody asked for; resolves when it is on disk. Throws the session's own errors. */
  accept(event: AgentEvent, place: Place): Promise<void>;
  /** Ends the turns that were cut short, but for the busy ones. Throws the session's own error while it cannot. */
  settle(busy: ReadonlySet<number>): void;
  /** Remembers that turns were cut short, and why; after an error of the store, resolves when the log was read back. */
  interrupted(cause: unknown): Promise<void>;
}

export function createJournal(deps: {
  readonly writer: LogWriter<SessionEvent>;
  readonly store: EventStore<SessionEvent, Summary>;
  readonly history: History;
  readonly coalesce: boolean;
  /** Called with records that the history has folded. */
  readonly onRecords: (records: readonly SessionEvent[]) => void;
  /** The log did not take a record: whatever writes has to stop. */
  readonly onFault: (error: unknown) => void;
  /** Resolves when nothing writes any more. */
  readonly quiet: () => Promise<void>;
  /** The log was read back; what it did not take is lost. */
  readonly onHealed: (error: unknown) => void;
}): Journal {
  const { writer, store } = deps;
  let history = deps.history;
  /** Set from a failed write until the log was read back. */
  let fault: { readonly error: unknown } | null = null;
  let healing: Promise<void> | null = null;
  /** Why turns are open that nobody works on. */
  let owed: string | null = null;

  const named = (error: unknown) => namedError(error, writer.id);
  const onFault = (error: unknown) => {
    if (fault || !isFault(error)) return;
    fault = { error };
    owed ??= messageOf(error);
    deps.onFault(error);
    void heal(error);
  };
  const heal = (error: unknown): Promise<void> => {
    healing ??= readBack()
      .then(() => deps.onHealed(named(error)))
      // A log that cannot be read either: the next write tries again.
      .catch(() => {})
      .finally(() => {
        healing = null;
      });
    return healing;
  };
  const readBack = async () => {
    await deps.quiet();
    const read = createHistory();
    for await (const { event } of store.read(writer.id, { onDamage: read.lost })) read.apply(event);
    recorder.reset();
    history = read;
    fault = null;
  };
  const recorder = createRecorder({
    writer,
    coalesce: deps.coalesce,
    onFault,
    guard() {
      if (!fault) return;
      void heal(fault.error);
      throw fault.error;
    },
    onRecords(records) {
      for (const record of records) history.apply(record);
      deps.onRecords(records);
    },
  });
  /** Whoever does not wait for the disk learns of a failure from the fault. */
  const durable = (seq?: number): Promise<void> => {
    const waiting = writer.durable(seq);
    waiting.catch(onFault);
    return waiting;
  };

  return {
    get history() {
      return history;
    },
    recorder,
    accept(event, place) {
      try {
        return durable(recorder.write(event, place).seq);
      } catch (error) {
        throw named(error);
      }
    },
    settle(busy) {
      if (owed === null) return;
      try {
        repair(history, recorder, owed, busy);
        owed = null;
        void durable();
      } catch (error) {
        throw named(error);
      }
    },
    async interrupted(cause) {
      owed = messageOf(cause);
      if (isStoreError(cause)) onFault(cause);
      await healing;
    },
  };
}

// --- internal ---

/** An event that is no event is its author's mistake and harms no other. */
function isFault(error: unknown): boolean {
  return isStoreError(error) && error.code !== "invalid_event" && error.code !== "too_large";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
