/**
 * One live session: the writer of its log, its queue of turns, its settings and whoever is attached. Everything anyone sees
 * of it is read back from the log.
 */
import type { Decision, PromptBlock, ResolvedBy, SessionEvent, SessionRecord } from "@chimera/acp-schema/events";
import type { EventStore, LogWriter, Reader, SubscribeOptions, Subscription } from "@chimera/event-store";
import { isStoreError } from "@chimera/event-store";
import type { SessionSnapshots } from "@chimera/snapshot-store";
import type { Agent, McpServer, Turn } from "./agent-port.js";
import { SessionError } from "./errors.js";
import type { History } from "./history.js";
import { limits } from "./limits.js";
import { createPermissionBroker, type OpenPermission } from "./permissions.js";
import { createRecorder, type Place } from "./recorder.js";
import { closeCalls, runTurn } from "./run-turn.js";
import { FLAG_OPTIONS, type FlagOption, MODE_FLAGS, type Mode, modeOf, type Settings } from "./settings.js";
import { type Summary, summarize } from "./summary.js";
import { createRewind, type Direction, type Rewind, type RewindOptions, type RewindReport } from "./undo.js";
import { type ClientEffects, composeWorkspace, type Files } from "./workspace.js";

/** idle: ready. running: a turn is in progress. cancelled: a cancel arrived and the turn is unwinding. */
export type SessionState = "idle" | "running" | "cancelled";

export interface PromptInput {
  readonly text: string;
  readonly content?: readonly PromptBlock[];
  /** Who sent it, when it was not the session's own client. */
  readonly origin?: string;
}

/** A prompt that has its place in the log. Its answer is read from the log: the last record of `turn`. */
export interface Accepted {
  readonly turn: number;
  readonly messageId: string;
  readonly status: "running" | "queued";
  /** Resolves when the prompt is on disk. */
  readonly durable: Promise<void>;
}

/** What a slash command turned out to be: a prompt for the agent, or an answer in its place. */
export type ResolvedCommand = { readonly prompt: string } | { readonly agent: Agent };

export interface Attachment {
  detach(): void;
}

export interface Session {
  readonly id: string;
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly createdAt: number;
  readonly touchedAt: number;
  readonly persistent: boolean;
  readonly state: SessionState;
  readonly queued: number;
  readonly settings: Settings;
  readonly mode: Mode;
  readonly title: string | null;
  readonly lastSeq: number;
  readonly history: History;
  /** Permission requests nobody has answered yet, by id. */
  readonly openPermissions: ReadonlyMap<string, OpenPermission>;
  summary(): Summary;
  /** Throws `queue_full`, `session_closed`, or the storage error that keeps the log from being written. */
  prompt(input: PromptInput): Accepted;
  /** Ends the running turn only; queued prompts stay. False when nothing ran. */
  cancel(): boolean;
  answer(permissionId: string, decision: Decision, origin?: string): Promise<void>;
  setModel(model: string, origin?: string): void;
  setAgent(agent: string, origin?: string): void;
  setMode(mode: Mode, origin?: string): void;
  setFlag(option: FlagOption, value: boolean, origin?: string): void;
  setOption(id: string, value: string | boolean, origin?: string): void;
  setTitle(title: string, origin?: string): void;
  /** The servers a client hands over with new, load or resume. */
  useMcpServers(servers: readonly McpServer[]): void;
  clear(origin?: string): void;
  /** Says where a fork came from; called once, by whoever made it. */
  markForked(from: string, at: number): void;
  undo(options?: RewindOptions): Promise<RewindReport>;
  redo(options?: RewindOptions): Promise<RewindReport>;
  /** Adds a client: one that approves is asked for permissions; effects take the disk's place for this session. */
  attach(client: { approves: boolean; effects?: ClientEffects }): Attachment;
  subscribe(options: SubscribeOptions, reader: Reader<SessionEvent>): Subscription;
  /** Counts as activity for the idle clock. */
  touch(): void;
  /** Resolves when nothing runs and nothing is queued. */
  idle(): Promise<void>;
  /** Cancels, denies what is open, drops the queue and releases the log. */
  close(by: Extract<ResolvedBy, "cancel" | "eviction">): Promise<void>;
  /** Resolves when the session has been closed, by whomever. */
  readonly ended: Promise<void>;
  /** What undo works from; null where files are not kept. */
  readonly snapshots: Pick<SessionSnapshots, "list" | "edits"> | null;
}

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
  readonly onError: (error: unknown, sessionId: string) => void;
}

export interface SessionBirth {
  readonly writer: LogWriter<SessionEvent>;
  readonly history: History;
  readonly settings: Settings;
  readonly program: string;
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly createdAt: number;
  readonly persistent: boolean;
  readonly mcpServers: readonly McpServer[];
  readonly parentId?: string;
}

export function createSession(deps: SessionDeps, birth: SessionBirth): Session {
  const { writer, history, cwd, directories, createdAt } = birth;
  const id = writer.id;
  let settings = birth.settings;
  let mcpServers = birth.mcpServers;
  let touched = deps.monotonic();
  let touchedAt = deps.clock();
  let state: SessionState = "idle";
  let closed = false;
  let abort: AbortController | null = null;
  let endedAt: number | null = null;
  const queue: Queued[] = [];
  const attached = new Set<{ approves: boolean; effects?: ClientEffects }>();
  const waiters = new Set<() => void>();
  let announceEnd = () => {};
  const ended = new Promise<void>((resolve) => {
    announceEnd = resolve;
  });

  const touch = () => {
    touched = deps.monotonic();
    touchedAt = deps.clock();
  };
  const fail = (error: unknown) => deps.onError(error, id);
  const recorder = createRecorder({
    writer: () => writer,
    coalesce: deps.coalesce,
    onError: fail,
    onRecord: (record: SessionRecord) => {
      touch();
      history.apply(record);
    },
  });
  const broker = createPermissionBroker({
    recorder,
    durable: (seq) => writer.durable(seq),
    approvers: () => [...attached].filter((client) => client.approves).length,
    newId: () => `perm-${deps.newId()}`,
    timeoutSeconds: deps.permissionTimeout,
  });
  const workspace = composeWorkspace({
    cwd,
    directories,
    disk: deps.disk,
    client: () => [...attached].findLast((client) => client.effects)?.effects,
    watch: {
      willWrite: async (path) => deps.snapshots?.willWrite(path),
      willRun: async () => (await deps.snapshots?.willRun()) ?? (async () => {}),
    },
  });

  const summary = () =>
    summarize(
      {
        id,
        program: birth.program,
        cwd,
        directories,
        createdAt,
        model: settings.model,
        ...(birth.parentId !== undefined && { parentId: birth.parentId }),
      },
      history,
      endedAt,
    );

  const saveSummary = async () => {
    if (birth.persistent) await deps.store.writeSummary(id, summary());
  };

  /** A change of settings outside a turn: a record like any other, so that every client sees it. */
  const change = (event: Parameters<typeof recorder.write>[0], origin?: string) => {
    requireOpen();
    const place: Place = { turn: null, ...(origin !== undefined && { origin }) };
    storing(() => recorder.write(event, place));
  };

  function requireOpen(): void {
    if (closed) throw new SessionError("session_closed", `session ${id} is closed; load it again`);
  }

  const notifyIdle = () => {
    for (const wake of waiters) wake();
    waiters.clear();
  };

  async function runNext(): Promise<void> {
    const next = queue.shift();
    if (!next || closed) {
      state = "idle";
      notifyIdle();
      return;
    }
    state = "running";
    abort = new AbortController();
    try {
      await runOne(next, abort.signal);
    } catch (error) {
      fail(error);
    } finally {
      abort = null;
    }
    await runNext();
  }

  async function runOne(next: Queued, signal: AbortSignal): Promise<void> {
    const place: Place = { turn: next.turn, ...(next.origin !== undefined && { origin: next.origin }) };
    const { text } = next.prompt;
    const command = text.startsWith("/") ? await deps.resolveCommand(session, text, rewind) : undefined;
    const answering = command && "agent" in command ? command.agent : undefined;
    const turn: Turn = {
      sessionId: id,
      number: next.turn,
      prompt: command && "prompt" in command ? { ...next.prompt, text: command.prompt } : next.prompt,
      history: history.messages(next.turn),
      settings: { ...settings, mcpServers, spentUsd: history.facts.usage?.total_usd ?? 0 },
    };
    if (!answering) deps.snapshots?.beginTurn(next.turn);
    await runTurn({
      agent: answering ?? deps.agent,
      turn,
      context: { workspace, signal, ask: (request) => broker.ask(request, place) },
      history,
      recorder,
      place,
      settle: async () => {
        broker.release("cancel");
        if (!answering) await deps.snapshots?.endTurn();
      },
    });
    endedAt = deps.clock();
    await Promise.all([writer.durable(), saveSummary()]);
  }

  const rewind = createRewind({ history, snapshots: deps.snapshots, record: change });
  const rewindIdle = async (direction: Direction, options?: RewindOptions) => {
    requireOpen();
    if (state !== "idle") {
      throw new SessionError("turn_running", `cannot ${direction} while a turn runs; cancel it or wait for it`);
    }
    return rewind(direction, options);
  };

  const session: Session = {
    id,
    cwd,
    directories,
    createdAt,
    persistent: birth.persistent,
    history,
    ended,
    snapshots: deps.snapshots,
    get touchedAt() {
      return Math.max(touchedAt, deps.clock() - (deps.monotonic() - touched));
    },
    get state() {
      return state;
    },
    get queued() {
      return queue.length;
    },
    get settings() {
      return settings;
    },
    get mode() {
      return modeOf(settings);
    },
    get title() {
      return history.facts.title;
    },
    get lastSeq() {
      return writer.lastSeq;
    },
    get openPermissions() {
      return broker.open;
    },
    summary,
    touch,
    prompt(input) {
      requireOpen();
      if (queue.length >= limits.queuedPrompts) {
        throw new SessionError("queue_full", `session ${id} already has ${queue.length} prompts waiting`);
      }
      const turn = history.turns.length;
      const messageId = `msg-${turn}`;
      const { text, content, origin } = input;
      const place: Place = { turn, ...(origin !== undefined && { origin }) };
      const metadata = { prompt: messageId, text, ...(content && { content: [...content] }) };
      const { seq } = storing(() => recorder.write({ type: "user_message", metadata }, place));
      const status = state === "idle" ? "running" : "queued";
      queue.push({ turn, prompt: content ? { text, content } : { text }, ...(origin !== undefined && { origin }) });
      if (status === "running") {
        state = "running";
        void runNext();
      }
      return { turn, messageId, status, durable: writer.durable(seq) };
    },
    cancel() {
      touch();
      if (!abort || abort.signal.aborted) return false;
      state = "cancelled";
      abort.abort();
      broker.release("cancel");
      return true;
    },
    answer(permissionId, decision, origin) {
      touch();
      return broker.answer(permissionId, decision, origin);
    },
    setModel(model, origin) {
      const old = settings.model;
      change({ type: "model_changed", metadata: { old, new: model } }, origin);
      settings = { ...settings, model };
    },
    setAgent(agent, origin) {
      change({ type: "config_changed", metadata: { id: "agent", value: agent } }, origin);
      settings = { ...settings, agent };
    },
    setMode(mode, origin) {
      const old = modeOf(settings);
      change({ type: "mode_changed", metadata: { old, new: mode } }, origin);
      settings = { ...settings, ...MODE_FLAGS[mode] };
    },
    setFlag(option, value, origin) {
      change({ type: "config_changed", metadata: { id: option, value } }, origin);
      settings = { ...settings, [FLAG_OPTIONS[option]]: value };
    },
    setOption(option, value, origin) {
      change({ type: "config_changed", metadata: { id: option, value } }, origin);
      settings = { ...settings, options: { ...settings.options, [option]: value } };
    },
    setTitle(title, origin) {
      change({ type: "title_changed", metadata: { title } }, origin);
    },
    useMcpServers(servers) {
      mcpServers = servers;
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
      attached.add(client);
      touch();
      return {
        detach: () => {
          attached.delete(client);
        },
      };
    },
    subscribe(options, reader) {
      touch();
      return deps.store.subscribe(id, options, reader);
    },
    idle: () => (state === "idle" ? Promise.resolve() : new Promise((resolve) => waiters.add(resolve))),
    async close(by) {
      if (closed) return;
      const dropped = queue.splice(0);
      closed = true;
      abort?.abort();
      broker.release(by);
      try {
        await session.idle();
        for (const { turn } of dropped) recorder.write({ type: "cancelled", metadata: { output: "" } }, { turn });
        await saveSummary();
        await writer.close();
      } finally {
        announceEnd();
      }
    },
  };

  /** Runs an append and names a storage failure by the session's own error. */
  function storing<T>(append: () => T): T {
    try {
      return append();
    } catch (error) {
      if (!isStoreError(error)) throw error;
      const code = error.code === "storage_full" ? "storage_full" : "storage_failed";
      throw new SessionError(code, error.message, { cause: error });
    }
  }

  repair(history, recorder);
  return session;
}

// --- internal ---

interface Queued {
  readonly turn: number;
  readonly prompt: Turn["prompt"];
  readonly origin?: string;
}

/** Ends what a crash left open: calls without a result, unanswered permissions, a turn in the middle, prompts never run. */
function repair(history: History, recorder: ReturnType<typeof createRecorder>): void {
  for (const turn of history.turns.filter((candidate) => !candidate.ended)) {
    const place: Place = { turn: turn.number };
    if (!turn.started) {
      recorder.write({ type: "cancelled", metadata: { output: "" } }, place);
      continue;
    }
    const message = "the process ended before the turn did";
    for (const permission_id of [...history.openPermissions]) {
      recorder.write(
        { type: "permission_resolved", metadata: { permission_id, decision: "deny", by: "eviction" } },
        place,
      );
    }
    closeCalls(history, recorder, place, message);
    recorder.write({ type: "error", metadata: { name: "Interrupted", message, retryable: true } }, place);
    recorder.write({ type: "turn_end", metadata: { stop_reason: "error" } }, place);
    recorder.write(
      {
        type: "agent_result",
        metadata: { output: "", steps: turn.steps, tool_calls_total: 0, cost: 0, success: false, error: message },
      },
      place,
    );
  }
}
