/** All sessions of a process: made, loaded, listed, forked, unloaded when idle, deleted. */
import type { Agent, TurnSettings } from "@chimera/acp-schema/agent";
import { type Conversation, type Flags, foldConversation } from "@chimera/acp-schema/conversation";
import {
  type AgentEvent,
  endsTurn,
  isLost,
  type Lost,
  type SessionEvent,
  type SessionRecord,
} from "@chimera/acp-schema/events";
import { readSummary, type Summary } from "@chimera/acp-schema/summary";
import type { EventStore, ListOptions, LogWriter } from "@chimera/event-store";
import { createMemoryStore, makeSessionId, sessionTime } from "@chimera/event-store";
import type { RecoveryReport, SessionSnapshots, SnapshotStore } from "@chimera/snapshot-store";
import { createSession, type SessionBirth } from "./create-session.js";
import { namedError, SessionError } from "./errors.js";
import { DEFAULT_SESSION_TTL, seconds } from "./limits.js";
import { createLoaded, type Loaded } from "./loaded.js";
import { createCollected, createLogs, foldLog, type SessionLogs } from "./logs.js";
import { isRecorded, settleFiles } from "./recover.js";
import type { Rewind } from "./rewind.js";
import type { OwnedSession, ResolvedCommand, Session, SessionClient } from "./session.js";
import {
  changesBetween,
  DEFAULT_SETTINGS,
  madeWith,
  narrower,
  type OptionOrders,
  ownSettings,
  requireModelName,
  type Settings,
  settingsOf,
} from "./settings.js";
import { summarize } from "./summary.js";
import { type Files, plainFiles } from "./workspace.js";

export interface CreateOptions {
  readonly cwd: string;
  readonly directories?: readonly string[];
  readonly settings?: Partial<Settings>;
  /** False keeps the log in memory. @defaultValue true */
  readonly persist?: boolean;
}

export interface Sessions {
  readonly prefix: string;
  readonly defaults: Settings;
  /** Where sessions are kept, other programs' too. */
  readonly store: EventStore<SessionEvent, Summary>;
  readonly logs: SessionLogs;
  create(options: CreateOptions): Promise<OwnedSession>;
  /** The loaded session, or the stored one, loaded. `session_not_found`, `session_claimed`. */
  load(id: string): Promise<OwnedSession>;
  /** The same, with its visible conversation up to `head`: undone turns left out, the deltas of a block joined. */
  loadVisible(id: string): Promise<LoadedVisible>;
  /** A loaded session, without touching it. */
  find(id: string): OwnedSession | undefined;
  /** Loaded sessions, newest touched first. */
  live(): OwnedSession[];
  /** Stored sessions that had a prompt, newest touched first; those in memory as they are now. */
  list(options?: ListOptions<Summary>): Promise<{ sessions: ListedSummary[]; next: string | null }>;
  /** The rows of stored sessions that are in memory, as they are now: newer than what the store lists. */
  known(): ReadonlyMap<string, ListedSummary>;
  /** Copies the log up to the end of a turn (default: the last) into a new session. Resolves when the copy is durable. */
  fork(id: string, options?: { readonly turn?: number | undefined }): Promise<OwnedSession>;
  /** Cancels, takes flags and options back to how it was made, unloads; the session stays loadable. */
  close(id: string): Promise<void>;
  /** Ends a session for good and forgets its snapshots; its log stays, as a record of what happened. `session_not_found`. */
  tearDown(id: string): Promise<void>;
  /** The log and the snapshots too. */
  delete(id: string): Promise<void>;
  /** Adds a client to a session, for as long as it stays, loaded or not. */
  attach(id: string, client: SessionClient): { detach(): void };
  /** Calls the listener with each session that is loaded from now on; the function returned ends that. */
  onLoad(listener: (session: OwnedSession) => void): () => void;
  /** Unloads what has been idle for the time to live. Called by every operation above; no sweeper needed. */
  evictIdle(): void;
  shutdown(): Promise<void>;
}

export interface LoadedVisible {
  readonly session: OwnedSession;
  /** The number of the last record it shows. */
  readonly head: number;
  readonly visible: AsyncIterable<SessionRecord | Lost>;
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
  readonly snapshots?: Pick<SnapshotStore, "session" | "release" | "clear"> | null;
  /** @defaultValue this machine's files, unguarded: an agent that takes paths from a model brings its own */
  readonly disk?: Files;
  /** The program's name: the prefix of its session ids. */
  readonly prefix: string;
  /** Completed by `DEFAULT_SETTINGS`. */
  readonly defaults: Pick<Settings, "model"> & Partial<Settings>;
  /** Completes or refuses every new session, however it is made: created, forked, or by a command. @defaultValue as asked */
  readonly admit?: (asked: CreateOptions) => Promise<CreateOptions>;
  /** Holds each turn to the limits of its project. @defaultValue none */
  readonly bound?: (settings: TurnSettings, cwd: string) => TurnSettings;
  /** The values of options from the strictest on: a loaded session keeps the stricter of log and start. @defaultValue none */
  readonly orders?: OptionOrders;
  /** The approval flags that a session in this directory starts with. @defaultValue those of `defaults` */
  readonly flags?: (cwd: string) => Flags;
  /** Directories that every new session has besides its own. @defaultValue none */
  readonly directories?: readonly string[];
  /** Seconds; null or 0 keeps sessions loaded. @defaultValue 3600 */
  readonly ttl?: number | null;
  /** Seconds after which a permission that nobody answered is denied; 0 sets no limit. @defaultValue 0 */
  readonly permissionTimeout?: number;
  /** Joins text deltas of one tick. @defaultValue true */
  readonly coalesce?: boolean;
  /** Slash commands; without it every text goes to the agent. */
  readonly commands?: {
    resolve(sessions: Sessions, session: Session, text: string, rewind: Rewind): Promise<ResolvedCommand | undefined>;
  };
  readonly clock?: () => number;
  readonly monotonic?: () => number;
  readonly randomHex?: (bytes: number) => string;
  /** Called when a session was loaded: made, loaded or forked. */
  readonly onLoad?: (session: OwnedSession) => void;
  /** Called when a session was unloaded: closed, evicted or deleted. What was started for it ends here. */
  readonly onUnload?: (sessionId: string) => Promise<void>;
  /** Called with the record of a setting that a client changed: `model_changed`, `mode_changed` and the like. */
  readonly onSetting?: (change: AgentEvent, sessionId: string) => void;
  /** Called with an undo that a crash interrupted, once it is repaired or could not be. */
  readonly onRecovered?: (report: RecoveryReport) => void;
  readonly onError?: (error: unknown, sessionId: string) => void;
}

/** Throws `invalid_setting` for a time that is not a finite number of seconds of at least 0. */
export function createSessions(deps: SessionsDeps): Sessions {
  const house = createHouse(deps);
  const { loaded, store } = house;
  const sessions: Sessions = {
    prefix: deps.prefix,
    defaults: house.defaults,
    store,
    logs: createLogs(store, house.ephemeral, loaded),
    find: loaded.find,
    attach: (id, client) => loaded.attachments(id).attach(client),
    onLoad: loaded.onLoad,
    evictIdle: loaded.evictIdle,
    shutdown: loaded.shutdown,
    live: () => loaded.all().sort((a, b) => b.touchedAt - a.touchedAt),
    async create(options) {
      loaded.evictIdle();
      const asked = (await deps.admit?.(options)) ?? options;
      if (asked.settings?.model !== undefined) requireModelName(asked.settings.model);
      const settings = madeWith(house.start(asked.cwd), asked.settings ?? {});
      return born(house, { ...asked, settings }, foldConversation(), (target, id, summary) =>
        target.create(id, summary),
      );
    },
    async load(id) {
      loaded.evictIdle();
      const present = loaded.find(id);
      present?.touch();
      return present ?? loaded.inLane(id, async () => loaded.find(id) ?? bring(house, id));
    },
    async loadVisible(id) {
      const collected = createCollected();
      const session =
        loaded.find(id) ?? (await loaded.inLane(id, async () => loaded.find(id) ?? bring(house, id, collected.take)));
      session.touch();
      return { session, head: session.lastSeq, visible: collected.visible(sessions.logs, session) };
    },
    async list(options) {
      loaded.evictIdle();
      const asked = { prefixes: [deps.prefix], order: "touched", prompted: true, closed: false, ...options } as const;
      return store.list({ ...asked, known: sessions.known() });
    },
    known() {
      const stored = loaded.all().filter(({ persistent }) => persistent);
      return new Map(stored.map((one) => [one.id, { id: one.id, summary: one.summary(), touched: one.touchedAt }]));
    },
    fork: (id, { turn } = {}) => loaded.inLane(id, () => fork(house, id, turn)),
    close: (id) => loaded.inLane(id, () => close(house, id)),
    tearDown: (id) => loaded.inLane(id, () => tearDown(house, id)),
    delete: (id) => loaded.inLane(id, () => remove(house, id)),
  };
  house.sessions = sessions;
  return sessions;
}

// --- internal ---

type Store = EventStore<SessionEvent, Summary>;

/** What every operation on sessions needs. */
interface House {
  readonly deps: SessionsDeps;
  readonly loaded: Loaded;
  readonly store: Store;
  readonly ephemeral: Store;
  readonly defaults: Settings;
  /** What a session in this directory starts with now. */
  readonly start: (cwd: string) => Settings;
  readonly clock: () => number;
  readonly randomHex: (bytes: number) => string;
  snapshotsOf(birth: SessionBirth): SessionSnapshots | null;
  /** Makes a session of its birth, loaded from now on. */
  open(store: Store, birth: SessionBirth): OwnedSession;
  /** Set by `createSessions`, for commands. */
  sessions: Sessions | null;
}

function createHouse(deps: SessionsDeps): House {
  const permissionTimeout = seconds("permissionTimeout", deps.permissionTimeout, 0);
  const ttl = deps.ttl === null ? 0 : seconds("ttl", deps.ttl, DEFAULT_SESSION_TTL);
  const { clock = Date.now, monotonic = () => performance.now(), randomHex = hex, onError = () => {} } = deps;
  const ephemeral = deps.ephemeral ?? createMemoryStore<SessionEvent, Summary>();
  const defaults: Settings = { ...DEFAULT_SETTINGS, ...deps.defaults };
  const loaded = createLoaded({
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
  const house: House = {
    deps,
    loaded,
    store: deps.store,
    ephemeral,
    defaults,
    start: (cwd) => ({ ...defaults, ...deps.flags?.(cwd) }),
    clock,
    randomHex,
    sessions: null,
    snapshotsOf: ({ writer, cwd, directories }) => deps.snapshots?.session(writer.id, { cwd, directories }) ?? null,
    open(store, birth) {
      const { id } = birth.writer;
      const session = createSession(
        {
          agent: deps.agent,
          resolveCommand: async (one, text, rewind) => deps.commands?.resolve(house.sessions!, one, text, rewind),
          bound: deps.bound ?? ((settings) => settings),
          store,
          snapshots: house.snapshotsOf(birth),
          attachments: loaded.attachments(id),
          disk: deps.disk ?? plainFiles,
          clock,
          monotonic,
          newId: () => randomHex(4),
          permissionTimeout,
          coalesce: deps.coalesce ?? true,
          onSetting: deps.onSetting ?? (() => {}),
          onError,
        },
        birth,
      );
      loaded.add(session);
      deps.onLoad?.(session);
      return session;
    },
  };
  return house;
}

/** Loads a stored session; `take` gets each entry of its log. */
async function bring(house: House, id: string, take?: (entry: SessionRecord | Lost) => void): Promise<OwnedSession> {
  const { store, deps } = house;
  const naming = (error: unknown): never => {
    throw namedError(error, id);
  };
  const stored = await store.readSummary(id).catch(naming);
  if (!stored || stored.closed) throw notFound(id);
  const summary = readSummary(id, stored);
  if (summary.cwd === "") throw new SessionError("invalid_setting", `session ${id} does not say where it worked`);
  const writer = await store.open(id).catch(naming);
  try {
    const conversation = await foldLog(store, id, take ? { take } : {});
    const wasEvicted = house.loaded.wasEvicted(id);
    const birth = { writer, conversation, ...rememberedBirth(summary, house.start(summary.cwd)) };
    await settleFiles(house.snapshotsOf(birth), isRecorded(store, id), deps.onRecovered);
    const session = house.open(store, birth);
    // A restart must not widen what the program was started with, nor what a person narrowed.
    if (!wasEvicted) change(session, narrower(session.settings, house.start(session.cwd), deps.orders ?? {}));
    return session;
  } catch (error) {
    deps.snapshots?.release(id);
    await writer.close().catch(() => {});
    throw namedError(error, id);
  }
}

/** Makes a session that was not there before. */
async function born(
  house: House,
  options: CreateOptions & { readonly settings: Settings; readonly parentId?: string },
  conversation: Conversation,
  open: (store: Store, id: string, summary: Summary) => Promise<LogWriter<SessionEvent>>,
): Promise<OwnedSession> {
  const { deps, clock } = house;
  const { cwd, settings: made, parentId, persist = true } = options;
  const createdAt = clock();
  const id = makeSessionId(deps.prefix, createdAt, house.randomHex(4));
  const store = persist ? house.store : house.ephemeral;
  const facts = {
    program: deps.prefix,
    cwd,
    directories: [...(deps.directories ?? []), ...(options.directories ?? [])],
    createdAt,
    bounds: ownSettings(made, house.start(cwd)),
    ...(parentId !== undefined && { parentId }),
  };
  const { model } = settingsOf(made, conversation.settings);
  const writer = await open(store, id, summarize({ ...facts, id, model }, conversation, null));
  return house.open(store, { ...facts, writer, conversation, made, persistent: persist, endedAt: null });
}

/** Runs in the parent's lane. */
async function fork(house: House, id: string, asked: number | undefined): Promise<OwnedSession> {
  const parent = house.loaded.find(id) ?? (await bring(house, id));
  parent.touch();
  const { turns } = parent.conversation;
  const turn = asked ?? turns.findLast((candidate) => candidate.ended)?.number;
  if (turn === undefined || !turns[turn]?.ended)
    throw new SessionError(
      "nothing_to_fork",
      `session ${id} has no finished turn${turn === undefined ? "" : ` ${turn}`}`,
    );
  const store = parent.persistent ? house.store : house.ephemeral;
  let at = 0;
  const conversation = await foldLog(store, id, {
    take: (entry) => {
      if (!isLost(entry)) at = entry.seq;
    },
    until: (record) => record.turn === turn && endsTurn(record.type),
  });
  const inherited = new Set(house.deps.directories ?? []);
  const wanted: CreateOptions = {
    cwd: parent.cwd,
    directories: parent.directories.filter((directory) => !inherited.has(directory)),
    persist: parent.persistent,
    settings: parent.settings,
  };
  const admitted = (await house.deps.admit?.(wanted)) ?? wanted;
  const settings = { ...parent.settings, ...admitted.settings };
  const { maxSteps, maxCostUsd, allowedTools } = settings;
  const made = { ...house.start(admitted.cwd), maxSteps, maxCostUsd, allowedTools };
  const child = await born(
    house,
    { ...admitted, settings: made, parentId: id },
    conversation,
    (target, childId, summary) => target.copy(id, childId, { upTo: at, summary }),
  );
  const durable = child.record({ type: "forked", metadata: { from: id, at } });
  // What was changed in the parent after the turn holds in the child, too: a fork must not widen anything.
  change(child, settings);
  await durable;
  return child;
}

/** Records what differs. A log that cannot be written now says so at the next prompt. */
function change(session: OwnedSession, settings: Settings): void {
  for (const event of changesBetween(session.settings, settings)) session.record(event).catch(() => {});
}

/** Runs in the session's lane. An evicted session still has the settings that its clients gave it. */
async function close(house: House, id: string): Promise<void> {
  if (house.loaded.wasEvicted(id)) await bring(house, id);
  await house.loaded.unload(id, "close");
}

/** Runs in the session's lane. */
async function tearDown(house: House, id: string): Promise<void> {
  const { loaded, ephemeral } = house;
  const isPersistent = loaded.find(id)?.persistent ?? true;
  const store = isPersistent ? house.store : ephemeral;
  const known = await store.readSummary(id).catch(() => null);
  if (!known || known.closed) throw notFound(id);
  await loaded.unload(id, "close");
  // A log in memory went with its session.
  if (isPersistent) await store.writeSummary(id, { ...((await store.readSummary(id)) ?? known), closed: true });
  await house.deps.snapshots?.clear(id);
}

/** Runs in the session's lane. */
async function remove(house: House, id: string): Promise<void> {
  await house.loaded.unload(id, "close");
  await house.ephemeral.delete(id);
  await house.store.delete(id);
  await house.deps.snapshots?.clear(id);
}

/** What a stored session is loaded with: the start settings of now, under those it was made with; its log says what was changed. */
function rememberedBirth(summary: Summary, start: Settings): Omit<SessionBirth, "writer" | "conversation"> {
  const { bounds = {} } = summary;
  return {
    made: madeWith(start, { ...bounds, model: summary.model }),
    bounds,
    program: summary.agent,
    cwd: summary.cwd,
    directories: summary.directories ?? [],
    createdAt: Date.parse(summary.started_at ?? "") || sessionTime(summary.session_id) || 0,
    endedAt: summary.ended_at === null ? null : Date.parse(summary.ended_at),
    persistent: true,
    ...(summary.parent_id !== undefined && { parentId: summary.parent_id }),
  };
}

function notFound(id: string): SessionError {
  return new SessionError("session_not_found", `there is no session ${id}`, { sessionId: id });
}

function hex(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
}
