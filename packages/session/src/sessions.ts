/** All sessions of a process: made, loaded, listed, forked, unloaded when idle, deleted. */
import type { AgentEvent, SessionEvent } from "@chimera/acp-schema/events";
import { readSummary, type Summary } from "@chimera/acp-schema/summary";
import type { EventStore, ListOptions, LogWriter } from "@chimera/event-store";
import { createMemoryStore, makeSessionId, sessionTime } from "@chimera/event-store";
import type { SnapshotStore } from "@chimera/snapshot-store";
import type { Agent, McpServer } from "./agent-port.js";
import { createSession, type SessionBirth, type SessionDeps } from "./create-session.js";
import { SessionError } from "./errors.js";
import { createHistory, type History } from "./history.js";
import { DEFAULT_SESSION_TTL, seconds } from "./limits.js";
import { createLiveSessions } from "./live-sessions.js";
import type { OwnTurn, TurnOwner } from "./run-turn.js";
import type { ResolvedCommand, Session } from "./session.js";
import { DEFAULT_SETTINGS, type Flags, ownBounds, requireModelName, type Settings } from "./settings.js";
import { namedError } from "./storage-error.js";
import { summarize } from "./summary.js";
import type { Rewind } from "./undo.js";
import { type Files, plainFiles } from "./workspace.js";

export interface CreateOptions {
  readonly cwd: string;
  readonly directories?: readonly string[];
  readonly settings?: Partial<Settings>;
  /** False keeps the log in memory. @defaultValue true */
  readonly persist?: boolean;
  readonly mcpServers?: readonly McpServer[];
}

export interface Sessions {
  readonly prefix: string;
  readonly defaults: Settings;
  /** Where sessions are kept, other programs' too. */
  readonly store: EventStore<SessionEvent, Summary>;
  create(options: CreateOptions): Promise<Session>;
  /** The live session, or the stored one, loaded. `session_not_found`, `session_claimed`. */
  load(id: string): Promise<Session>;
  /** A live session, without touching it. */
  find(id: string): Session | undefined;
  /** Live sessions, newest touched first. */
  live(): Session[];
  /** Stored sessions that had a prompt, newest touched first; those in memory as they are now. */
  list(options?: ListOptions<Summary>): Promise<{ sessions: ListedSummary[]; next: string | null }>;
  /** The rows of stored sessions that are in memory, as they are now: newer than what the store lists. */
  known(): ReadonlyMap<string, ListedSummary>;
  /** Copies the log up to the end of a turn (default: the last) into a new session. */
  fork(id: string, options?: { turn?: number | undefined; mcpServers?: readonly McpServer[] }): Promise<Session>;
  /** Cancels, unloads; the session stays loadable. */
  close(id: string): Promise<void>;
  /** Ends a session for good and forgets its snapshots; its log stays, as a record of what happened. `session_not_found`. */
  tearDown(id: string): Promise<void>;
  /** The log and the snapshots too. */
  delete(id: string): Promise<void>;
  /** Calls the listener with each session that comes into memory from here on; the function returned ends that. */
  onLoad(listener: (session: Session) => void): () => void;
  /** The store a session's records are read from, live or not. */
  storeOf(id: string): EventStore<SessionEvent, Summary>;
  /** Unloads what has been idle for the time to live. Called by every operation above; no sweeper needed. */
  evictIdle(): void;
  shutdown(): Promise<void>;
}

export interface ListedSummary {
  readonly id: string;
  readonly summary: Summary;
  readonly touched: number;
}

export interface SessionsDeps {
  readonly agent: Agent;
  readonly store: EventStore<SessionEvent, Summary>;
  /** Where sessions with `persist: false` live. @defaultValue memory */
  readonly ephemeral?: EventStore<SessionEvent, Summary>;
  /** @defaultValue none: undo then rewinds the conversation alone */
  readonly snapshots?: SnapshotStore | null;
  /** @defaultValue this machine's files, unguarded: an agent that takes paths from a model brings its own */
  readonly disk?: Files;
  /** The program's name: the prefix of its session ids. */
  readonly prefix: string;
  /** Completed by `DEFAULT_SETTINGS`. */
  readonly defaults: Pick<Settings, "model"> & Partial<Settings>;
  /** The approval flags that a session in this directory opens with, made or loaded. @defaultValue those of `defaults` */
  readonly flags?: (cwd: string) => Flags;
  /** Directories that every new session has besides its own. @defaultValue none */
  readonly directories?: readonly string[];
  /** Seconds; null or 0 keeps sessions loaded. @defaultValue 3600 */
  readonly ttl?: number | null;
  /** Seconds after which a permission that nobody answered is denied; 0 waits for ever. @defaultValue 0 */
  readonly permissionTimeout?: number;
  /** Joins text deltas of one tick. @defaultValue true */
  readonly coalesce?: boolean;
  /** Slash commands; without it every text goes to the agent. */
  readonly commands?: {
    resolve(sessions: Sessions, session: Session, text: string, rewind: Rewind): Promise<ResolvedCommand | undefined>;
  };
  /** @defaultValue nothing is traced to the turn it was done for */
  readonly owner?: OwnTurn;
  readonly clock?: () => number;
  readonly monotonic?: () => number;
  readonly randomHex?: (bytes: number) => string;
  /** Called when a session has come into memory: made, loaded or forked. */
  readonly onLoad?: (session: Session) => void;
  /** Called when a session has left memory: closed, evicted or deleted. What was started for it ends here. */
  readonly onUnload?: (sessionId: string) => Promise<void>;
  /** Called with the record of a setting that a client changed: `model_changed`, `mode_changed` and the like. */
  readonly onSetting?: (change: AgentEvent, sessionId: string) => void;
  readonly onError?: (error: unknown, sessionId: string) => void;
}

/** Throws `invalid_setting` for a time that is not a finite number of seconds of at least 0. */
export function createSessions(deps: SessionsDeps): Sessions {
  const permissionTimeout = seconds("permissionTimeout", deps.permissionTimeout, 0);
  const ttl = deps.ttl === null ? 0 : seconds("ttl", deps.ttl, DEFAULT_SESSION_TTL);
  const clock = deps.clock ?? Date.now;
  const monotonic = deps.monotonic ?? (() => performance.now());
  const randomHex = deps.randomHex ?? hex;
  const ephemeral = deps.ephemeral ?? createMemoryStore<SessionEvent, Summary>();
  const disk = deps.disk ?? plainFiles;
  const defaults: Settings = { ...DEFAULT_SETTINGS, ...deps.defaults };
  const defaultsIn = (cwd: string): Settings => ({ ...defaults, ...deps.flags?.(cwd) });
  const onError = deps.onError ?? (() => {});
  const live = createLiveSessions({
    ttl,
    monotonic,
    onError,
    async release({ id, persistent }) {
      // A log that lives in memory goes with its session.
      if (!persistent) await ephemeral.delete(id);
      deps.snapshots?.release(id);
      await deps.onUnload?.(id);
    },
  });
  const loading = new Map<string, Promise<Session>>();
  const loadListeners = new Set<(session: Session) => void>();

  const depsOf = (store: EventStore<SessionEvent, Summary>, birth: Omit<SessionBirth, "history">): SessionDeps => ({
    agent: deps.agent,
    resolveCommand: async (session, text, rewind) => deps.commands?.resolve(sessions, session, text, rewind),
    store,
    snapshots: deps.snapshots?.session(birth.writer.id, { cwd: birth.cwd, directories: birth.directories }) ?? null,
    disk,
    clock,
    monotonic,
    newId: () => randomHex(4),
    permissionTimeout,
    coalesce: deps.coalesce ?? true,
    owner: deps.owner ?? (() => UNTRACED),
    onSetting: deps.onSetting ?? (() => {}),
    onError,
  });

  const admit = (store: EventStore<SessionEvent, Summary>, birth: SessionBirth): Session => {
    const session = createSession(depsOf(store, birth), birth);
    live.add(session);
    deps.onLoad?.(session);
    for (const listener of loadListeners) listener(session);
    return session;
  };

  async function bring(id: string): Promise<Session> {
    await live.gone(id);
    const naming = (error: unknown): never => {
      throw namedError(error, id);
    };
    const stored = await deps.store.readSummary(id).catch(naming);
    if (!stored || stored.closed) throw notFound(id);
    const summary = readSummary(id, stored);
    if (summary.cwd === "") throw new SessionError("invalid_setting", `session ${id} does not say where it worked`);
    const writer = await deps.store.open(id).catch(naming);
    try {
      const history = createHistory();
      for await (const { event } of deps.store.read(id, { onDamage: history.lost })) history.apply(event);
      const opens = { ...defaultsIn(summary.cwd), ...live.switched(id) };
      return admit(deps.store, { writer, history, ...rememberedBirth(summary, history, opens) });
    } catch (error) {
      await writer.close().catch(() => {});
      throw namedError(error, id);
    }
  }

  async function born(
    options: Required<Pick<CreateOptions, "cwd" | "directories" | "persist" | "mcpServers">> & {
      settings: Settings;
      parentId?: string;
    },
    open: (store: EventStore<SessionEvent, Summary>, id: string, summary: Summary) => Promise<LogWriter<SessionEvent>>,
    history: History,
  ): Promise<Session> {
    const createdAt = clock();
    const id = makeSessionId(deps.prefix, createdAt, randomHex(4));
    const store = options.persist ? deps.store : ephemeral;
    const { cwd, directories, settings, parentId, persist, mcpServers } = options;
    const facts = {
      program: deps.prefix,
      cwd,
      directories,
      createdAt,
      bounds: ownBounds(settings, defaults),
      ...(parentId !== undefined && { parentId }),
    };
    const writer = await open(store, id, summarize({ ...facts, id, model: settings.model }, history, null));
    return admit(store, { ...facts, writer, history, settings, persistent: persist, mcpServers });
  }

  const sessions: Sessions = {
    prefix: deps.prefix,
    defaults,
    store: deps.store,
    find: live.find,
    onLoad(listener) {
      loadListeners.add(listener);
      return () => void loadListeners.delete(listener);
    },
    live: () => live.all().sort((a, b) => b.touchedAt - a.touchedAt),
    storeOf: (id) => (live.find(id)?.persistent === false ? ephemeral : deps.store),
    async create(options) {
      if (options.settings?.model !== undefined) requireModelName(options.settings.model);
      sessions.evictIdle();
      return born(
        {
          cwd: options.cwd,
          directories: [...(deps.directories ?? []), ...(options.directories ?? [])],
          persist: options.persist ?? true,
          mcpServers: options.mcpServers ?? [],
          settings: { ...defaultsIn(options.cwd), ...options.settings },
        },
        (store, id, summary) => store.create(id, summary),
        createHistory(),
      );
    },
    async load(id) {
      sessions.evictIdle();
      const present = live.find(id);
      if (present) {
        present.touch();
        return present;
      }
      const pending = loading.get(id) ?? bring(id).finally(() => loading.delete(id));
      loading.set(id, pending);
      return pending;
    },
    async list(options) {
      sessions.evictIdle();
      const asked = { prefixes: [deps.prefix], order: "touched", prompted: true, closed: false, ...options } as const;
      return deps.store.list({ ...asked, known: sessions.known() });
    },
    known: () =>
      new Map(
        live
          .all()
          .filter((session) => session.persistent)
          .map((session) => [session.id, { id: session.id, summary: session.summary(), touched: session.touchedAt }]),
      ),
    async fork(id, options = {}) {
      const parent = await sessions.load(id);
      const turn = options.turn ?? parent.history.turns.findLast((candidate) => candidate.ended)?.number;
      if (turn === undefined || !parent.history.turns[turn]?.ended) {
        throw new SessionError(
          "nothing_to_fork",
          `session ${id} has no finished turn${turn === undefined ? "" : ` ${turn}`}`,
        );
      }
      const store = sessions.storeOf(id);
      const history = createHistory();
      let at = 0;
      for await (const { event } of store.read(id, { onDamage: history.lost })) {
        history.apply(event);
        at = event.seq;
        if (event.turn === turn && (event.type === "agent_result" || event.type === "cancelled")) break;
      }
      const child = await born(
        {
          cwd: parent.cwd,
          directories: parent.directories,
          persist: parent.persistent,
          mcpServers: options.mcpServers ?? [],
          settings: parent.settings,
          parentId: id,
        },
        (target, childId, summary) => target.copy(id, childId, { upTo: at, summary }),
        history,
      );
      child.markForked(id, at);
      return child;
    },
    close: (id) => live.unload(id, "cancel"),
    async tearDown(id) {
      const store = sessions.storeOf(id);
      const known = await store.readSummary(id).catch(() => null);
      if (!known || known.closed) throw notFound(id);
      await sessions.close(id);
      const summary = await store.readSummary(id);
      if (store === ephemeral) await store.delete(id);
      else await store.writeSummary(id, { ...(summary ?? known), closed: true });
      await deps.snapshots?.clear(id);
    },
    async delete(id) {
      await Promise.all([live.unload(id, "cancel"), live.gone(id)]);
      await ephemeral.delete(id);
      await deps.store.delete(id);
      await deps.snapshots?.clear(id);
    },
    evictIdle: live.evictIdle,
    async shutdown() {
      await Promise.allSettled(loading.values());
      await live.unloadAll();
    },
  };
  return sessions;
}

// --- internal ---

const UNTRACED: TurnOwner = { run: (work) => work(), end() {} };

/** What a stored session is born with again: model and agent from its log, its bounds, everything else from the defaults. */
function rememberedBirth(
  summary: Summary,
  { facts }: History,
  defaults: Settings,
): Omit<SessionBirth, "writer" | "history"> {
  const { bounds = {} } = summary;
  const model = facts.model ?? summary.model;
  return {
    settings: { ...defaults, ...bounds, model, ...(facts.agent !== null && { agent: facts.agent }) },
    bounds,
    program: summary.agent,
    cwd: summary.cwd,
    directories: summary.directories ?? [],
    createdAt: Date.parse(summary.started_at ?? "") || sessionTime(summary.session_id) || 0,
    persistent: true,
    mcpServers: [],
    ...(summary.parent_id !== undefined && { parentId: summary.parent_id }),
  };
}

function notFound(id: string): SessionError {
  return new SessionError("session_not_found", `there is no session ${id}`, { sessionId: id });
}

function hex(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
}
