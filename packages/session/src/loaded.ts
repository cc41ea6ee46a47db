/** The sessions in memory, the clients of each, and one lane per id: loading, unloading, forking and deleting a session take turns. */

import { SessionError } from "./errors.js";
import { limits } from "./limits.js";
import type { OwnedSession, SessionClient } from "./session.js";

export type Loaded = ReturnType<typeof createLoaded>;

export interface Watcher {
  loaded(): void;
  /** Other processes may write the log now. @param lastSeq the number of its last record */
  letGo(lastSeq: number): void;
  /** @param lastSeq the number of its last record; null when another process took the session over and goes on writing. */
  unloaded(lastSeq: number | null): void;
}

export interface Evicted extends Pick<OwnedSession, "made"> {
  /** The number of its last record. */
  readonly lastSeq: number;
}

/** `lost`: another process has it now. */
export type Unloading = "close" | "eviction" | "shutdown" | "lost";

export function createLoaded(deps: {
  /** Seconds; 0 keeps sessions loaded. */
  readonly ttl: number;
  /** Seconds of idleness after which the log of a session is let go; 0 keeps it. */
  readonly hold: number;
  readonly monotonic: () => number;
  /** Lets go of what was kept for a session that has closed. */
  readonly release: (session: OwnedSession) => Promise<void>;
  readonly onError: (error: unknown, sessionId: string) => void;
}) {
  const { ttl, monotonic } = deps;
  const holdMs = deps.hold * 1000;
  const sessions = new Map<string, OwnedSession>();
  const resting = new Map<string, OwnedSession>();
  const evicted = new Map<string, Evicted>();
  const clients = createClients();
  const listeners = new Set<(session: OwnedSession) => void>();
  const watchers = createWatchers();
  let nextEviction = 0;
  let isShutDown = false;
  let nextLook: NodeJS.Timeout | null = null;

  const lanes = createLanes();
  const { inLane } = lanes;
  const unload = async (id: string, how: Unloading): Promise<void> => {
    const session = sessions.get(id) ?? resting.get(id);
    evicted.delete(id);
    if (!session) return;
    sessions.delete(id);
    resting.delete(id);
    try {
      await session.close(how === "eviction" ? "eviction" : "cancel", { reset: how === "close" });
      if (how === "eviction") remember(evicted, id, { lastSeq: session.lastSeq, made: session.made });
    } finally {
      clients.sweep(id);
      for (const watcher of watchers.of(id)) watcher.unloaded(how === "lost" ? null : session.lastSeq);
      await deps.release(session);
    }
  };

  const mayEvict = ({ idleMs, state, attended }: OwnedSession): boolean =>
    idleMs >= ttl * 1000 && (state === "idle" || !attended);
  /** Runs in the lane of the session, which may have been used while that was waited for. */
  const evict = async (session: OwnedSession): Promise<void> => {
    const { id } = session;
    if ((sessions.get(id) ?? resting.get(id)) === session && mayEvict(session)) await unload(id, "eviction");
  };

  const rouse = (session: OwnedSession): void => {
    resting.delete(session.id);
    sessions.set(session.id, session);
    for (const watcher of watchers.of(session.id)) watcher.loaded();
    lookLater();
  };
  /** Runs in the lane of the session. */
  const letGo = async (session: OwnedSession): Promise<void> => {
    const { id } = session;
    if (sessions.get(id) !== session || !mayRest(session) || session.idleMs < holdMs) return;
    sessions.delete(id);
    resting.set(id, session);
    if (!(await session.letGo())) return rouse(session);
    for (const watcher of watchers.of(id)) watcher.letGo(session.lastSeq);
  };
  /** One timer, for the session that is due first. */
  const lookLater = (): void => {
    if (holdMs === 0 || nextLook !== null || sessions.size === 0) return;
    const waits = [...sessions.values()].map((one) => (mayRest(one) ? holdMs - one.idleMs : holdMs));
    nextLook = setTimeout(
      () => {
        nextLook = null;
        const due = [...sessions.values()].filter((one) => mayRest(one) && one.idleMs >= holdMs);
        for (const one of due) inLane(one.id, () => letGo(one)).catch((error) => deps.onError(error, one.id));
        lookLater();
      },
      Math.max(LEAST_LOOK_MS, Math.min(...waits)),
    ).unref();
  };

  return {
    find: (id: string) => sessions.get(id),
    all: () => [...sessions.values(), ...resting.values()],
    /** The session of this id whose log was let go, in the state it had then. */
    resting: (id: string) => resting.get(id),
    /** Its log is held again. */
    rouse,
    /** Runs work when nothing else of the same id is under way. */
    inLane,
    /** The same for work that takes a session into memory. Throws `draining` once the process shuts down. */
    async bringIn<T>(id: string, work: () => Promise<T>): Promise<T> {
      if (isShutDown) throw new SessionError("draining", "the server is about to end and opens no session");
      return inLane(id, work);
    },
    /** Takes a session out of memory; the log stays. Called in its lane. Resolves when its log is released. */
    unload,
    /** The clients of a session, loaded or not. */
    attachments: clients.of,
    /** Adds a client to a session, for as long as it stays, loaded or not. */
    attach(id: string, client: SessionClient) {
      const { detach } = clients.of(id).attach(client);
      return {
        detach() {
          detach();
          // A loaded session keeps its own.
          if (!sessions.has(id) && !resting.has(id)) clients.sweep(id);
        },
      };
    },
    /** The clients that are really connected, without placeholders. */
    clients: (id: string) => clients.known(id)?.list() ?? [],
    /** What a session had that this process evicted: while nobody writes more, it comes back exactly as it was. */
    evicted: (id: string) => evicted.get(id),
    onLoad(listener: (session: OwnedSession) => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /** Calls back when the session of this id is loaded or was unloaded; the function returned ends that. */
    watch: watchers.watch,
    add(session: OwnedSession) {
      sessions.set(session.id, session);
      evicted.delete(session.id);
      for (const watcher of watchers.of(session.id)) watcher.loaded();
      for (const listener of listeners) listener(session);
      lookLater();
    },
    /** Unloads sessions that have been idle for the time to live. */
    evictIdle() {
      const now = monotonic();
      if (!ttl || now < nextEviction) return;
      // Every operation asks; looking at each session every time would cost more the more there are.
      nextEviction = now + Math.min(1000, ttl * 100);
      for (const session of [...sessions.values(), ...resting.values()]) {
        if (!mayEvict(session)) continue;
        inLane(session.id, () => evict(session)).catch((error) => deps.onError(error, session.id));
      }
    },
    /** Takes in no session any more, and unloads those that are there or just come. */
    async shutdown() {
      isShutDown = true;
      await lanes.settled();
      clearTimeout(nextLook ?? undefined);
      await Promise.allSettled(
        [...sessions.keys(), ...resting.keys()].map((id) => inLane(id, () => unload(id, "shutdown"))),
      );
    },
  };
}

/** The clients connected to one session: they answer permissions, lend files, terminals and MCP servers. Kept while it is unloaded. */
export type Attachments = ReturnType<typeof createAttachments>;

// --- internal ---

const LEAST_LOOK_MS = 20;

/** Not a session without prompts: it is in no list, so no other process can ask for it. Not one that runs or waits: it needs its log. */
function mayRest({
  persistent,
  state,
  queued,
  conversation: { turns, openPermissions, openQuestions, openJobs },
}: OwnedSession): boolean {
  const isQuiet = openPermissions.size + openQuestions.size + openJobs.size === 0;
  return persistent && state === "idle" && queued === 0 && turns.length > 0 && isQuiet;
}

function createLanes() {
  const lanes = new Map<string, Promise<unknown>>();
  return {
    inLane<T>(id: string, work: () => Promise<T>): Promise<T> {
      const before = lanes.get(id);
      const done = before ? before.then(work, work) : work();
      const settled = done.then(
        () => {},
        () => {},
      );
      lanes.set(id, settled);
      void settled.then(() => lanes.get(id) === settled && lanes.delete(id));
      return done;
    },
    settled: () => Promise.allSettled(lanes.values()),
  };
}

function createWatchers() {
  const byId = new Map<string, Set<Watcher>>();
  return {
    of: (id: string): Iterable<Watcher> => byId.get(id) ?? [],
    watch(id: string, watcher: Watcher): () => void {
      const watching = byId.get(id) ?? new Set();
      byId.set(id, watching.add(watcher));
      return () => {
        if (watching.delete(watcher) && watching.size === 0) byId.delete(id);
      };
    },
  };
}

/** The clients of sessions by id: an editor stays attached to a session that is unloaded. */
function createClients() {
  const byId = new Map<string, Attachments>();
  return {
    known: (id: string): Attachments | undefined => byId.get(id),
    of(id: string): Attachments {
      const known = byId.get(id) ?? createAttachments();
      byId.set(id, known);
      return known;
    },
    sweep(id: string): void {
      if (byId.get(id)?.isEmpty) byId.delete(id);
    },
  };
}

/** Keeps the newest ids only. */
function remember(ids: Map<string, Evicted>, id: string, last: Evicted): void {
  ids.set(id, last);
  const [oldest] = ids.keys();
  if (ids.size > limits.evictedSessions && oldest !== undefined) ids.delete(oldest);
}

function createAttachments() {
  /** Each with the time it came. */
  const since = new Map<SessionClient, number>();
  let deserted: (() => void) | null = null;
  const approvers = () => [...since.keys()].filter((client) => client.approves).length;
  return {
    /** How many can be asked for permissions. */
    approvers,
    attach(client: SessionClient) {
      since.set(client, Date.now());
      return {
        detach() {
          if (since.delete(client) && client.approves && approvers() === 0) deserted?.();
        },
      };
    },
    /** The clients that are really connected, without placeholders. */
    list: () =>
      [...since]
        .filter(([{ absent }]) => !absent)
        .map(([{ transport = "program", name = null, approves }, at]) => ({ transport, name, approves, since: at })),
    /** Effects of the newest connected client that offers any. */
    newestEffects: () => [...since.keys()].findLast((client) => client.effects && !client.effects.gone)?.effects,
    /** The servers that the newest client with any has handed over. */
    mcpServers: () => [...since.keys()].findLast((client) => client.mcpServers)?.mcpServers?.() ?? [],
    /** Whether a client is really connected, and not only a placeholder attached. */
    get isAttended() {
      return [...since.keys()].some((client) => !client.absent);
    },
    get isEmpty() {
      return since.size === 0;
    },
    /** Tells every client of turns that the log did not take. */
    turnsLost(error: unknown, busy: ReadonlySet<number>) {
      for (const client of since.keys()) client.onTurnsLost?.(error, busy);
    },
    /** Called when the last client that approves has left; null when nothing waits for that. */
    onDeserted(listener: (() => void) | null) {
      deserted = listener;
    },
  };
}
