/** Puts one session together: log, history, queue, permissions, settings and undo. */
import type { AgentEvent, SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { type EventStore, isStoreError, type LogWriter } from "@chimera/event-store";
import type { SessionSnapshots } from "@chimera/snapshot-store";
import type { Agent, McpServer } from "./agent-port.js";
import { createAttachments } from "./attachments.js";
import { SessionError } from "./errors.js";
import type { History } from "./history.js";
import { createJournal } from "./journal.js";
import { limits } from "./limits.js";
import { createLiveSettings } from "./live-settings.js";
import { createPermissionBroker } from "./permissions.js";
import type { OwnTurn } from "./run-turn.js";
import type { ResolvedCommand, Session } from "./session.js";
import { modeOf, type Settings } from "./settings.js";
import { namedError } from "./storage-error.js";
import { changesSummary, endsTurn, type SummaryFacts, summarize } from "./summary.js";
import { createTurnQueue } from "./turn-queue.js";
import { createTurnRunner } from "./turn-runner.js";
import { createRewind, type Direction, type Rewind, type RewindOptions } from "./undo.js";
import type { Files } from "./workspace.js";

export interface SessionDeps {
  readonly agent: Agent;
  /** Slash commands answer in the agent's place; they may rewind although their own turn runs. */
  readonly resolveCommand: (session: Session, text: string, rewind: Rewind) => Promise<ResolvedCommand | undefined>;
  readonly store: EventStore<SessionEvent, Summary>;
  readonly snapshots: SessionSnapshots | null;
  readonly disk: Files;
  readonly clock: () => number;
  /** Monotonic milliseconds, for idleness. */
  readonly monotonic: () => number;
  readonly newId: () => string;
  readonly permissionTimeout: number;
  readonly coalesce: boolean;
  readonly owner: OwnTurn;
  readonly onSetting: (change: AgentEvent, sessionId: string) => void;
  readonly onError: (error: unknown, sessionId: string) => void;
}

/** What a session starts with, made or loaded. */
export interface SessionBirth extends Omit<SummaryFacts, "id" | "model"> {
  readonly writer: LogWriter<SessionEvent>;
  readonly history: History;
  readonly settings: Settings;
  readonly persistent: boolean;
  readonly mcpServers: readonly McpServer[];
}

export function createSession(deps: SessionDeps, birth: SessionBirth): Session {
  const { writer, cwd, directories, createdAt } = birth;
  const id = writer.id;
  const onError = (error: unknown) => deps.onError(error, id);
  let mcpServers = birth.mcpServers;
  let touched = deps.monotonic();
  let touchedAt = deps.clock();
  let endedAt: number | null = null;
  let closing: Promise<void> | null = null;
  let saving: Promise<void> | null = null;
  let unsaved: { readonly sync: boolean } | null = null;
  const attachments = createAttachments(() => broker.release("rule"));
  let announceEnd = () => {};
  const ended = new Promise<void>((resolve) => {
    announceEnd = resolve;
  });

  const touch = () => {
    touched = deps.monotonic();
    touchedAt = deps.clock();
  };
  const journal = createJournal({
    writer,
    store: deps.store,
    history: birth.history,
    coalesce: deps.coalesce,
    onRecords(records) {
      touch();
      const listed = records.filter(changesSummary);
      if (listed.length === 0) return;
      const isEnd = listed.some(endsTurn);
      if (isEnd) endedAt = deps.clock();
      void saveSummary({ sync: isEnd });
    },
    onFault(error) {
      onError(error);
      queue.abort();
    },
    quiet: () => queue.quiet(),
    onHealed(error) {
      // A prompt that the log did not take never happened.
      queue.forget((turn) => !journal.history.turns[turn]);
      attachments.turnsLost(error, queue.busy());
    },
  });
  const { recorder } = journal;
  const broker = createPermissionBroker({
    recorder,
    durable: (seq) => writer.durable(seq),
    approvers: attachments.approvers,
    newId: () => `perm-${deps.newId()}`,
    timeoutSeconds: deps.permissionTimeout,
  });
  const runTurn = createTurnRunner({
    sessionId: id,
    cwd,
    directories,
    agent: deps.agent,
    resolve: (text) => deps.resolveCommand(session, text, rewind),
    journal,
    written: () => writer.written(),
    broker,
    queue: () => queue,
    settings: () => settings.now,
    mcpServers: () => mcpServers,
    snapshots: deps.snapshots,
    disk: deps.disk,
    effects: attachments.effects,
    owner: deps.owner,
    onError,
  });
  const queue = createTurnQueue({
    async run(next, signal) {
      await runTurn(next, signal);
      await writer.durable();
    },
    async recover(error) {
      onError(error);
      await journal.interrupted(error);
      journal.settle(queue.busy());
    },
  });

  const summary = () => summarize({ ...birth, id, model: settings.now.model }, journal.history, endedAt);
  /**
   * Lists of other processes are made of summaries. Changes that come while one is being written share the next one. Only the end of a
   * turn is forced to the disk: after a crash of the machine a list may show the state of a moment before.
   */
  const saveSummary = ({ sync }: { sync: boolean }): Promise<void> => {
    if (!birth.persistent) return Promise.resolve();
    unsaved = { sync: sync || unsaved?.sync === true };
    saving ??= (async () => {
      // The records of this tick are one change.
      await Promise.resolve();
      while (unsaved) {
        const next: { readonly sync: boolean } = unsaved;
        unsaved = null;
        await deps.store.writeSummary(id, summary(), next).catch(onError);
      }
      saving = null;
    })();
    return saving;
  };

  /** A change outside a turn: a record like any other, so that every client sees it. */
  const change = (event: AgentEvent, origin?: string) => {
    requireOpen();
    journal.settle(queue.busy());
    void journal.accept(event, { turn: null, origin });
  };

  const settings = createLiveSettings(birth.settings, (event, origin) => {
    change(event, origin);
    deps.onSetting(event, id);
  });

  function requireOpen(): void {
    if (closing) throw new SessionError("session_closed", `session ${id} is closed; load it again`);
  }

  const rewind = createRewind({ history: () => journal.history, snapshots: deps.snapshots, record: change });
  const rewindIdle = async (direction: Direction, options?: RewindOptions) => {
    requireOpen();
    if (session.state !== "idle") {
      throw new SessionError("turn_running", `cannot ${direction} while a turn runs; cancel it or wait for it`);
    }
    await queue.quiet();
    const report = await rewind(direction, options);
    // The files are back: a client that hears so finds it in the log, too.
    await writer.durable();
    return report;
  };

  async function shut(by: "cancel" | "eviction"): Promise<void> {
    const dropped = queue.stop();
    broker.release(by);
    await queue.idle();
    try {
      journal.settle(new Set());
      for (const turn of dropped) recorder.write({ type: "cancelled", metadata: { output: "" } }, { turn });
      await saveSummary({ sync: true });
    } catch (error) {
      // The next load ends what could not be ended here.
      onError(error);
    } finally {
      await writer.close().finally(announceEnd);
    }
  }

  const session: Session = {
    id,
    cwd,
    directories,
    createdAt,
    persistent: birth.persistent,
    ended,
    snapshots: deps.snapshots,
    get history() {
      return journal.history;
    },
    get touchedAt() {
      return touchedAt;
    },
    get idleMs() {
      return deps.monotonic() - touched;
    },
    get state() {
      // A turn whose last record is out has ended for everybody, though it is still being made durable.
      const { turns } = journal.history;
      return [...queue.busy()].every((turn) => turns[turn]?.ended) ? "idle" : queue.state;
    },
    get attended() {
      return attachments.attended;
    },
    get queued() {
      return queue.length;
    },
    get settings() {
      return settings.now;
    },
    get mode() {
      return modeOf(settings.now);
    },
    get title() {
      return journal.history.facts.title;
    },
    get lastSeq() {
      return writer.lastSeq;
    },
    get openPermissions() {
      return broker.open;
    },
    summary,
    touch,
    prompt({ text, content, origin }) {
      requireOpen();
      if (queue.length >= limits.queuedPrompts) {
        throw new SessionError("queue_full", `session ${id} already has ${queue.length} prompts waiting`);
      }
      journal.settle(queue.busy());
      const status = session.state === "idle" ? "running" : "queued";
      const turn = journal.history.turns.length;
      const messageId = `msg-${turn}`;
      const metadata = { prompt: messageId, text, ...(content && { content: [...content] }) };
      const durable = journal.accept({ type: "user_message", metadata }, { turn, origin });
      queue.add({ turn, prompt: content ? { text, content } : { text }, origin });
      return { turn, messageId, status, durable };
    },
    cancel() {
      touch();
      if (!queue.cancel()) return false;
      broker.release("cancel");
      return true;
    },
    cancelTurn(turn) {
      if (queue.current === turn) return session.cancel();
      if (queue.forget((waiting) => waiting === turn).length === 0) return false;
      recorder.write({ type: "cancelled", metadata: { output: "" } }, { turn });
      return true;
    },
    answer(permissionId, decision, origin) {
      touch();
      return broker.answer(permissionId, decision, origin);
    },
    ...settings.setters,
    setTitle(text, origin) {
      const title = text.replace(/\s+/g, " ").trim();
      if (title.length > limits.titleLength)
        throw new SessionError("invalid_setting", `a title has at most ${limits.titleLength} characters`);
      change({ type: "title_changed", metadata: { title } }, origin);
    },
    useMcpServers(servers) {
      mcpServers = servers;
    },
    notify(level, text) {
      change({ type: "notice", metadata: { level, text } });
    },
    clear(origin) {
      change({ type: "cleared", metadata: {} }, origin);
    },
    markForked(from, at) {
      change({ type: "forked", metadata: { from, at } });
    },
    undo: (options) => rewindIdle("undo", options),
    redo: (options) => rewindIdle("redo", options),
    attach(client) {
      touch();
      return attachments.attach(client);
    },
    subscribe(options, reader) {
      touch();
      return deps.store.subscribe(id, options, reader);
    },
    async durable(seq) {
      await writer.durable(seq).catch((error) => {
        // A log that was closed has written all it was given.
        if (!isStoreError(error) || error.code !== "closed") throw namedError(error, id);
      });
    },
    idle: queue.idle,
    close(by) {
      closing ??= shut(by);
      return closing;
    },
  };

  void journal.interrupted(new Error("the process ended before the turn did"));
  try {
    journal.settle(new Set());
  } catch {
    // Still owed: the next write that succeeds ends them.
  }
  return session;
}
