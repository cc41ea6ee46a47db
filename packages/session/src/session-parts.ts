/** Makes the parts of one session, in order: the hold on its log, queue, journal, settings, broker, undo, summary. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Agent, TurnSettings } from "@chimera/acp-schema/agent";
import type { Conversation } from "@chimera/acp-schema/conversation";
import { type AgentEvent, endsTurn, type SessionEvent } from "@chimera/acp-schema/events";
import type { Policy } from "@chimera/acp-schema/policy";
import type { Summary } from "@chimera/acp-schema/summary";
import type { EventStore, LogWriter } from "@chimera/event-store";
import type { SessionSnapshots } from "@chimera/snapshot-store";
import type { Attachments } from "./attachments.js";
import { type Broker, createBroker } from "./broker.js";
import { createJournal, type Journal } from "./journal.js";
import { restoreLog } from "./recover.js";
import { createRewind, type Rewind } from "./rewind.js";
import type { PromptInput, ResolvedCommand, Session } from "./session.js";
import { createSettings, type Settings } from "./settings.js";
import { changesSummary, createSummarySaver, type SummaryFacts, type SummarySaver, summarize } from "./summary.js";
import { createWorkQueue, type WorkQueue } from "./work-queue.js";
import type { Files } from "./workspace.js";

export interface SessionDeps {
  readonly agent: Agent;
  /** Finds the slash command of a prompt. A command may rewind turns although its own turn runs. */
  readonly resolveCommand: (
    session: Session,
    prompt: PromptInput,
    rewind: Rewind,
  ) => Promise<ResolvedCommand | undefined>;
  /** Narrows the settings of a turn to the limits of its project. */
  readonly bound: (settings: TurnSettings, cwd: string) => TurnSettings;
  readonly store: EventStore<SessionEvent, Summary>;
  readonly snapshots: SessionSnapshots | null;
  /** The rules for the calls of engines. */
  readonly policy: Policy;
  readonly attachments: Attachments;
  readonly disk: Files;
  readonly clock: () => number;
  /** Monotonic milliseconds, for idleness. */
  readonly monotonic: () => number;
  readonly newId: () => string;
  readonly permissionTimeout: number;
  readonly coalesce: boolean;
  /** Throws for a prompt beyond a limit of its sender. */
  readonly admitPrompt: (input: PromptInput) => void;
  /** Called with what the session has cost so far, in dollars. */
  readonly onSpent: (usd: number) => void;
  /** Takes up the log after it was let go. Rejects if another process has it. */
  readonly wake: () => Promise<unknown>;
  /** Called after a turn has ended and is on disk. */
  readonly onSaved: () => void;
  readonly onSetting: (change: AgentEvent, sessionId: string) => void;
  readonly onError: (error: unknown, sessionId: string) => void;
}

/** The hold on a session's log. An idle session lets it go, and takes it up again at the same record. */
export interface LogHold extends LogWriter<SessionEvent> {
  /** True if the log was let go: nothing can be written, because another process may have it. */
  readonly isLetGo: boolean;
  /** Writes all queued records, then releases the log for other processes. */
  letGo(): Promise<void>;
  /** Continues with a new writer of the same log, after the same record. */
  takeUp(writer: LogWriter<SessionEvent>): void;
}

/** Everything that a session is made or loaded from. */
export interface SessionBirth extends Omit<SummaryFacts, "id" | "model"> {
  readonly writer: LogHold;
  readonly conversation: Conversation;
  /** The settings it was made with. Later changes are in its log. */
  readonly made: Settings;
  readonly persistent: boolean;
}

/** The parts of which a session is made. */
export interface Parts extends SessionDeps {
  readonly birth: SessionBirth;
  readonly writer: LogHold;
  readonly queue: WorkQueue;
  readonly journal: Journal;
  readonly broker: Broker;
  readonly rewind: Rewind;
  readonly settings: () => Settings;
  readonly activity: Activity;
  readonly summary: () => Summary;
  readonly saveSummary: SummarySaver["save"];
  /** Records events outside of turns, after the end of turns that were cut short. */
  readonly change: (events: AgentEvent | readonly AgentEvent[], origin?: string) => Promise<void>;
  /** `closing` is set when the session begins to close, `isClosed` when its summary was written for the last time. */
  readonly end: { closing: Promise<void> | null; isClosed: boolean };
}

export function createParts(deps: SessionDeps, birth: SessionBirth): Parts {
  const { writer } = birth;
  const { attachments } = deps;
  const onError = (error: unknown) => deps.onError(error, writer.id);
  const activity = createActivity(deps);
  const queue = createWorkQueue();
  const journal = createJournal({
    writer,
    store: deps.store,
    conversation: birth.conversation,
    coalesce: deps.coalesce,
    queue,
    attachments,
    onRecords(records) {
      activity.touch();
      settings();
      const usage = records.findLast((record) => record.type === "usage");
      if (usage) deps.onSpent(usage.metadata.total_usd);
      if (!records.some(changesSummary)) return;
      if (!records.some(({ type }) => endsTurn(type))) return saver.soon();
      // The summary comes last: clients wait for the last records of the turn, and nobody waits for its summary.
      void ended().then(saver.save).then(deps.onSaved);
    },
    onError,
  });
  /** Resolves when all records so far are durable and, one pass of the event loop later, delivered to the clients. Also resolves on failure. */
  const ended = (): Promise<void> =>
    journal.durable().then(
      () => nextTurn(),
      () => {},
    );
  const settings = createSettings(birth.made, () => journal.conversation.settings);
  const { newId, permissionTimeout: timeoutSeconds } = deps;
  const broker = createBroker({ journal, attachments, newId, timeoutSeconds });
  attachments.onDeserted(() => broker.release("rule"));
  const change: Parts["change"] = (events, origin) => {
    journal.endInterrupted(queue.busy());
    return journal.accept(events, { turn: null, origin });
  };
  const end: Parts["end"] = { closing: null, isClosed: false };
  const summary = () => summarize({ ...birth, id: writer.id, model: settings().model }, journal.conversation);
  const saver = createSummarySaver(async () => {
    // If another process has taken the session over, it writes the summary. After the close, this process may load the session anew.
    if (!birth.persistent || end.isClosed || writer.lost.aborted || writer.isLetGo) return;
    try {
      await deps.store.writeSummary(writer.id, summary(), { sync: false });
    } catch (error) {
      onError(error);
    }
  });
  return {
    ...deps,
    birth,
    writer,
    queue,
    journal,
    broker,
    settings,
    activity,
    end,
    change,
    rewind: createRewind({
      conversation: () => journal.conversation,
      snapshots: deps.snapshots,
      lastSeq: () => writer.lastSeq,
      record: async (event, origin) => change(event, origin),
      recorded: restoreLog(deps.store, writer).recorded,
    }),
    summary,
    saveSummary: saver.save,
  };
}

export function createLogHold(first: LogWriter<SessionEvent>): LogHold {
  let writer = first;
  let isLetGo = false;
  const lost = new AbortController();
  const watch = () => {
    const { lost: signal } = writer;
    signal.addEventListener("abort", () => signal === writer.lost && !isLetGo && lost.abort(), { once: true });
  };
  watch();
  return {
    id: first.id,
    lost: lost.signal,
    origin: () => writer.origin(),
    get lastSeq() {
      return writer.lastSeq;
    },
    get isLetGo() {
      return isLetGo;
    },
    requireHeld: () => writer.requireHeld(),
    append: (events) => writer.append(events),
    written: (seq) => writer.written(seq),
    durable: (seq) => writer.durable(seq),
    room: () => writer.room(),
    close: () => writer.close(),
    async letGo() {
      isLetGo = true;
      await writer.close();
    },
    takeUp(next) {
      writer = next;
      isLetGo = false;
      watch();
    },
  };
}

// --- internal ---

type Activity = ReturnType<typeof createActivity>;

function createActivity({ clock, monotonic }: Pick<SessionDeps, "clock" | "monotonic">) {
  let touched = monotonic();
  let touchedAt = clock();
  return {
    touch() {
      touched = monotonic();
      touchedAt = clock();
    },
    get touchedAt() {
      return touchedAt;
    },
    get idleMs() {
      return monotonic() - touched;
    },
  };
}
