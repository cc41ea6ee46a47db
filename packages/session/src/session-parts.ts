/** The parts of one session, each made from those before it: the hold on its log, queue, journal, settings, broker, undo, summary. */
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
  /** Slash commands answer in the agent's place; they may rewind although their own turn runs. */
  readonly resolveCommand: (
    session: Session,
    prompt: PromptInput,
    rewind: Rewind,
  ) => Promise<ResolvedCommand | undefined>;
  /** Holds a turn to the limits of its project. */
  readonly bound: (settings: TurnSettings, cwd: string) => TurnSettings;
  readonly store: EventStore<SessionEvent, Summary>;
  readonly snapshots: SessionSnapshots | null;
  /** The rules that engines' calls are held to. */
  readonly policy: Policy;
  readonly attachments: Attachments;
  readonly disk: Files;
  readonly clock: () => number;
  /** Monotonic milliseconds, for idleness. */
  readonly monotonic: () => number;
  readonly newId: () => string;
  readonly permissionTimeout: number;
  readonly coalesce: boolean;
  /** Throws for a prompt that goes beyond what its sender may use. */
  readonly admitPrompt: (input: PromptInput) => void;
  /** Called with what the session has cost so far, in dollars. */
  readonly onSpent: (usd: number) => void;
  /** Takes up the log that was let go. Rejects when another process has it. */
  readonly wake: () => Promise<unknown>;
  /** A turn has ended, and all of it is on disk. */
  readonly onSaved: () => void;
  readonly onSetting: (change: AgentEvent, sessionId: string) => void;
  readonly onError: (error: unknown, sessionId: string) => void;
}

/** The hold on a session's log, which can be let go while nothing happens and taken up again where it was. */
export interface LogHold extends LogWriter<SessionEvent> {
  /** Another process may have the log: nothing can be written. */
  readonly isLetGo: boolean;
  /** Writes what is queued, then lets other processes have the log. */
  letGo(): Promise<void>;
  /** Continues with another writer of the same log, at the same number. */
  takeUp(writer: LogWriter<SessionEvent>): void;
}

/** What a session starts with, made or loaded. */
export interface SessionBirth extends Omit<SummaryFacts, "id" | "model"> {
  readonly writer: LogHold;
  readonly conversation: Conversation;
  /** What it was made with; its log says what was changed since. */
  readonly made: Settings;
  readonly persistent: boolean;
}

/** The parts that the views of a session (client's, program's) are made from. */
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
  /** Records something that belongs to no turn, once turns that were cut short have ended. */
  readonly change: (events: AgentEvent | readonly AgentEvent[], origin?: string) => Promise<void>;
  readonly life: { closing: Promise<void> | null; isClosed: boolean };
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
      // Nobody waits for a summary, and the clients wait for the turn's last records.
      void ended().then(saver.save).then(deps.onSaved);
    },
    onError,
  });
  /** Resolves when the log holds what it was given so far, or cannot, and a pass of the event loop has taken it to the clients. */
  const ended = (): Promise<void> =>
    writer.durable().then(
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
  const life: Parts["life"] = { closing: null, isClosed: false };
  const summary = () => summarize({ ...birth, id: writer.id, model: settings().model }, journal.conversation);
  const saver = createSummarySaver(async () => {
    // A process that took the session over writes its own, and so may this one, once the session has closed.
    if (!birth.persistent || life.isClosed || writer.lost.aborted || writer.isLetGo) return;
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
    life,
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
