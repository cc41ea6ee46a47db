/** The sessions in memory, the clients of each, and one lane per id: loading, unloading, forking and deleting a session take turns. */

import { createClients } from "./attachments.js";
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

/** What it was made with, and where its log ended. */
export type Evicted = Pick<OwnedSession, "made"> & { readonly end: string };

/** `lost`: another process has it now. */
export type Unloading = "close" | "eviction" | "shutdown" | "lost";

interface LoadedDeps {
  /** Seconds; 0 keeps sessions loaded. */
  readonly ttl: number;
  /** Seconds of idleness after which the log of a session is let go; 0 keeps it. */
  readonly hold: number;
  readonly monotonic: () => number;
  /** Lets go of what was kept for a session that has closed. */
  readonly release: (session: OwnedSession) => Promise<void>;
  readonly onError: (error: unknown, sessionId: string) => void;
}

export function createLoaded(deps: LoadedDeps) {
  const shelves = createShelves();
  const { held, resting, find } = shelves;
  const evicted = new Map<string, Evicted>();
  const clients = createClients();
  const listeners = new Set<(session: OwnedSession) => void>();
  const watchers = createWatchers();
  const lanes = createLanes();
  const { inLane } = lanes;
  let isShutDown = false;
  const unload = async (id: string, how: Unloading): Promise<void> => {
    const session = find(id);
    evicted.delete(id);
    if (!session) return;
    shelves.remove(id);
    try {
      await session.close(how === "eviction" ? "eviction" : "cancel", { reset: how === "close" });
      if (how === "eviction") remember(evicted, id, { end: endOf(session), made: session.made });
    } finally {
      clients.sweep(id);
      for (const watcher of watchers.of(id)) watcher.unloaded(how === "lost" ? null : session.lastSeq);
      await deps.release(session);
    }
  };
  const hold = createHold(deps, shelves, watchers, inLane);

  return {
    find: (id: string) => held.get(id),
    all: shelves.all,
    /** The session of this id whose log was let go, in the state it had then. */
    resting: (id: string) => resting.get(id),
    /** Its log is held again. */
    rouse: hold.take,
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
    attach: (id: string, client: SessionClient) => clients.attach(id, client, () => find(id) !== undefined),
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
      evicted.delete(session.id);
      hold.take(session);
      for (const listener of listeners) listener(session);
    },
    /** Unloads sessions that have been idle for the time to live. */
    evictIdle: createEviction(deps, shelves, inLane, unload),
    /** Takes in no session any more, and unloads those that are there or just come. */
    async shutdown() {
      isShutDown = true;
      await lanes.settled();
      hold.stop();
      await Promise.allSettled(shelves.all().map(({ id }) => inLane(id, () => unload(id, "shutdown"))));
    },
  };
}

/** Where a log ends: not the same for another log of as many records. */
export function endOf({ lastSeq, origin }: Pick<OwnedSession, "lastSeq" | "origin">): string {
  return `${lastSeq} ${origin()}`;
}

// --- internal ---

const LEAST_LOOK_MS = 20;

type Shelves = ReturnType<typeof createShelves>;
type Lane = ReturnType<typeof createLanes>["inLane"];

/** The sessions in memory: those whose log this process holds, and those whose log it let go. */
function createShelves() {
  const held = new Map<string, OwnedSession>();
  const resting = new Map<string, OwnedSession>();
  return {
    held,
    resting,
    find: (id: string) => held.get(id) ?? resting.get(id),
    all: () => [...held.values(), ...resting.values()],
    remove(id: string): void {
      held.delete(id);
      resting.delete(id);
    },
  };
}

/** Lets go of the logs of idle sessions, and takes them up again. */
function createHold(
  { hold, onError }: LoadedDeps,
  { held, resting }: Shelves,
  watchers: ReturnType<typeof createWatchers>,
  inLane: Lane,
) {
  const holdMs = hold * 1000;
  let nextLook: NodeJS.Timeout | null = null;
  /** The log of this session is held from now on. */
  const take = (session: OwnedSession): void => {
    resting.delete(session.id);
    held.set(session.id, session);
    for (const watcher of watchers.of(session.id)) watcher.loaded();
    lookLater();
  };
  const isDue = (session: OwnedSession): boolean => mayRest(session) && session.idleMs >= holdMs;
  /** Runs in the lane of the session. */
  const letGo = async (session: OwnedSession): Promise<void> => {
    const { id } = session;
    if (held.get(id) !== session || !isDue(session)) return;
    held.delete(id);
    resting.set(id, session);
    if (!(await session.letGo())) return take(session);
    for (const watcher of watchers.of(id)) watcher.letGo(session.lastSeq);
  };
  /** One timer, for the session that is due first. */
  const lookLater = (): void => {
    if (holdMs === 0 || nextLook !== null || held.size === 0) return;
    const waits = [...held.values()].map((one) => (mayRest(one) ? holdMs - one.idleMs : holdMs));
    const look = () => {
      nextLook = null;
      for (const one of [...held.values()].filter(isDue))
        inLane(one.id, () => letGo(one)).catch((error) => onError(error, one.id));
      lookLater();
    };
    nextLook = setTimeout(look, Math.max(LEAST_LOOK_MS, Math.min(...waits))).unref();
  };
  return { take, stop: () => clearTimeout(nextLook ?? undefined) };
}

/** Returns what unloads the sessions that have been idle for the time to live. */
function createEviction(
  { ttl, monotonic, onError }: LoadedDeps,
  { find, all }: Shelves,
  inLane: Lane,
  unload: (id: string, how: Unloading) => Promise<void>,
) {
  let nextLook = 0;
  const isDue = ({ idleMs, state, attended }: OwnedSession): boolean =>
    idleMs >= ttl * 1000 && (state === "idle" || !attended);
  /** Runs in the lane of the session, which may have been used while that was waited for. */
  const evict = async (session: OwnedSession): Promise<void> => {
    if (find(session.id) === session && isDue(session)) await unload(session.id, "eviction");
  };
  return (): void => {
    const now = monotonic();
    if (!ttl || now < nextLook) return;
    // Every operation asks; looking at each session every time would cost more the more there are.
    nextLook = now + Math.min(1000, ttl * 100);
    for (const session of all().filter(isDue))
      inLane(session.id, () => evict(session)).catch((error) => onError(error, session.id));
  };
}

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

/** Keeps the newest ids only. */
function remember(ids: Map<string, Evicted>, id: string, last: Evicted): void {
  ids.set(id, last);
  const [oldest] = ids.keys();
  if (ids.size > limits.evictedSessions && oldest !== undefined) ids.delete(oldest);
}
