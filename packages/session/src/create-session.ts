/** Puts one session together: log, history, queue, permissions, settings and undo. */
import type { SessionEvent } from "@chimera/acp-schema/events";
import { type EventStore, isStoreError, type LogWriter } from "@chimera/event-store";
import type { SessionSnapshots } from "@chimera/snapshot-store";
import type { Agent, McpServer, Turn } from "./agent-port.js";
import { createAttachments } from "./attachments.js";
import { SessionError } from "./errors.js";
import type { History } from "./history.js";
import { createJournal } from "./journal.js";
import { limits } from "./limits.js";
import { createLiveSettings } from "./live-settings.js";
import { createPermissionBroker } from "./permissions.js";
import type { Place } from "./recorder.js";
import { type OwnTurn, runTurn } from "./run-turn.js";
import type { ResolvedCommand, Session } from "./session.js";
import { type Bounds, modeOf, type Settings } from "./settings.js";
import { namedError } from "./storage-error.js";
import { type Summary, summarize } from "./summary.js";
import { createTurnQueue, type QueuedTurn } from "./turn-queue.js";
import { createRewind, type Direction, type Rewind, type RewindOptions } from "./undo.js";
import { composeWorkspace, type Files } from "./workspace.js";

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
  readonly onError: (error: unknown, sessionId: string) => void;
}

export interface SessionBirth {
  readonly writer: LogWriter<SessionEvent>;
  readonly history: History;
  readonly settings: Settings;
  readonly bounds: Partial<Bounds>;
  readonly program: string;
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly createdAt: number;
  readonly persistent: boolean;
  readonly mcpServers: readonly McpServer[];
  readonly parentId?: string;
}

export function createSession(deps: SessionDeps, birth: SessionBirth): Session {
  const { writer, cwd, directories, createdAt, bounds } = birth;
  const id = writer.id;
  let mcpServers = birth.mcpServers;
  let touched = deps.monotonic();
  let touchedAt = deps.clock();
  let endedAt: number | null = null;
  let closing: Promise<void> | null = null;
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
    onRecords: touch,
    onFault(error) {
      deps.onError(error, id);
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
  /** Of the turn that runs. */
  let turnSignal: AbortSignal | undefined;
  const workspace = composeWorkspace({
    cwd,
    directories,
    disk: deps.disk,
    client: attachments.effects,
    onClientLost() {
      const text =
        "the editor that answered for unsaved files is gone: files are read from and written to the disk now";
      recorder.write({ type: "notice", metadata: { level: "warning", text } }, { turn: queue.current });
    },
    watch: {
      willWrite: async (path) => deps.snapshots?.willWrite(path),
      willRun: async () => (await deps.snapshots?.willRun({ signal: turnSignal })) ?? (async () => {}),
    },
  });
  const queue = createTurnQueue({
    run: runOne,
    async recover(error) {
      deps.onError(error, id);
      await journal.interrupted(error);
      journal.settle(queue.busy());
    },
  });

  const summary = () => {
    const parent = birth.parentId === undefined ? {} : { parentId: birth.parentId };
    const { model } = settings.now;
    const facts = { id, program: birth.program, cwd, directories, createdAt, model, bounds, ...parent };
    return summarize(facts, journal.history, endedAt);
  };
  /** Not waited for by the next turn; the store keeps the order. */
  const saveSummary = async () => {
    if (birth.persistent) await deps.store.writeSummary(id, summary()).catch((error) => deps.onError(error, id));
  };

  /** A change outside a turn: a record like any other, so that every client sees it. */
  const change = (event: Parameters<typeof recorder.write>[0], origin?: string) => {
    requireOpen();
    journal.settle(queue.busy());
    void journal.accept(event, { turn: null, ...(origin !== undefined && { origin }) });
  };

  const settings = createLiveSettings(birth.settings, change);

  function requireOpen(): void {
    if (closing) throw new SessionError("session_closed", `session ${id} is closed; load it again`);
  }

  async function resolve(text: string): Promise<ResolvedCommand | undefined> {
    if (!text.startsWith("/")) return undefined;
    try {
      return await deps.resolveCommand(session, text, rewind);
    } catch (error) {
      // A command that cannot be carried out: its turn ends with the reason.
      return {
        agent: () => {
          throw error;
        },
      };
    }
  }

  async function runOne(next: QueuedTurn, signal: AbortSignal): Promise<void> {
    const place: Place = { turn: next.turn, ...(next.origin !== undefined && { origin: next.origin }) };
    turnSignal = signal;
    journal.settle(queue.busy());
    const command = await resolve(next.prompt.text);
    const answering = command && "agent" in command ? command.agent : undefined;
    const agent = command && "around" in command ? command.around(deps.agent) : deps.agent;
    const { history } = journal;
    const turn: Turn = {
      sessionId: id,
      number: next.turn,
      prompt: command && "prompt" in command ? { ...next.prompt, text: command.prompt } : next.prompt,
      history: history.messages(next.turn),
      settings: { ...settings.now, mcpServers, spentUsd: history.facts.usage?.total_usd ?? 0 },
    };
    if (!answering) deps.snapshots?.beginTurn(next.turn);
    await runTurn({
      agent: answering ?? agent,
      turn,
      context: { workspace, signal, ask: (request) => broker.ask(request, place), flags: () => settings.now },
      history,
      recorder,
      place,
      owner: deps.owner,
      abort: () => queue.abort(),
      settle: async () => {
        broker.release("cancel");
        if (!answering) await keepSnapshot(place);
      },
    });
    endedAt = deps.clock();
    void saveSummary();
    await writer.durable();
  }

  /** Undo that cannot be kept costs the undo of this turn, not the turn. */
  async function keepSnapshot(place: Place): Promise<void> {
    try {
      await deps.snapshots?.endTurn();
    } catch (error) {
      deps.onError(error, id);
      const text = `what this turn changed cannot be undone: ${error instanceof Error ? error.message : String(error)}`;
      recorder.write({ type: "notice", metadata: { level: "warning", text } }, place);
    }
  }

  const rewind = createRewind({ history: () => journal.history, snapshots: deps.snapshots, record: change });
  const rewindIdle = async (direction: Direction, options?: RewindOptions) => {
    requireOpen();
    if (session.state !== "idle") {
      throw new SessionError("turn_running", `cannot ${direction} while a turn runs; cancel it or wait for it`);
    }
    await queue.quiet();
    return rewind(direction, options);
  };

  async function shut(by: "cancel" | "eviction"): Promise<void> {
    const dropped = queue.stop();
    broker.release(by);
    await queue.idle();
    try {
      journal.settle(new Set());
      for (const turn of dropped) recorder.write({ type: "cancelled", metadata: { output: "" } }, { turn });
      await saveSummary();
    } catch (error) {
      // The next load ends what could not be ended here.
      deps.onError(error, id);
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
      const by = origin === undefined ? {} : { origin };
      const metadata = { prompt: messageId, text, ...(content && { content: [...content] }) };
      const durable = journal.accept({ type: "user_message", metadata }, { turn, ...by });
      queue.add({ turn, prompt: content ? { text, content } : { text }, ...by });
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
      // Lists of other processes are made of summaries.
      void saveSummary();
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
