/** The sessions in memory, their clients, and one lane per session: its loading, unloading, forking and deletion run one after the other. */

import { createLanes, type Lanes } from "@chimera/acp-schema/promises";
import { createClients } from "./attachments.js";
import { SessionError } from "./errors.js";
import { limits } from "./limits.js";
import type { OwnedSession, SessionClient } from "./session.js";

export type Loaded = ReturnType<typeof createLoaded>;

export interface Watcher {
  loaded(): void;
  /** Other processes may write the log from now on. @param lastSeq the number of its last record */
  letGo(lastSeq: number): void;
  /** @param lastSeq the number of its last record. Null if another process took the session over and may write more. */
  unloaded(lastSeq: number | null): void;
}

/** An evicted session: the settings it was made with, and where its log ended. */
export type Evicted = Pick<OwnedSession, "made"> & { readonly end: string };

/** Why a session is unloaded. `lost`: another process has it now. */
export type Unloading = "close" | "eviction" | "shutdown" | "lost";

interface LoadedDeps {
  /** Seconds of idleness after which a session is evicted. 0 keeps sessions loaded. */
  readonly ttl: number;
  /** Seconds of idleness after which the log of a session is let go. 0 keeps it. */
  readonly hold: number;
  readonly monotonic: () => number;
  /** Frees everything that was kept for a session that has closed. */
  readonly release: (session: OwnedSession) => Promise<void>;
  readonly onError: (error: unknown, sessionId: string) => void;
}

export function createLoaded(deps: LoadedDeps) {
  const inMemory = createInMemory();
  const { held, resting, find } = inMemory;
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
    inMemory.remove(id);
    try {
      await session.close(how === "eviction" ? "eviction" : "cancel", { reset: how === "close" });
      if (how === "eviction") remember(evicted, id, { end: endOf(session), made: session.made });
    } finally {
      clients.sweep(id);
      for (const watcher of watchers.of(id)) watcher.unloaded(how === "lost" ? null : session.lastSeq);
      await deps.release(session);
    }
  };
  const hold = createHold(deps, inMemory, watchers, inLane);

  return {
    find: (id: string) => held.get(id),
    all: inMemory.all,
    /** The session of this id if its log was let go, in the state that it had then. */
    resting: (id: string) => resting.get(id),
    /** Counts a session as held again after its log was taken up. */
    takenUp: hold.add,
    /** Runs work in the lane of a session: after the work on the same session that was given before. */
    inLane,
    /** Like `inLane`, for work that takes a session into memory. Throws `draining` when the process shuts down. */
    async bringIn<T>(id: string, work: () => Promise<T>): Promise<T> {
      if (isShutDown) throw new SessionError("draining", "the server is about to end and opens no session");
      return inLane(id, work);
    },
    /** Takes a session out of memory. Runs in its lane. Resolves when its log is released. */
    unload,
    /** The clients of a session, loaded or not. */
    attachments: clients.of,
    /** Attaches a client to a session, loaded or not, until `detach`. */
    attach: (id: string, client: SessionClient) => clients.attach(id, client, () => find(id) !== undefined),
    /** The clients that are really connected, without placeholders. */
    clients: (id: string) => clients.known(id)?.list() ?? [],
    /** A session that this process evicted. If nobody has written to its log since, it gets exactly these settings when it is loaded again. */
    evicted: (id: string) => evicted.get(id),
    onLoad(listener: (session: OwnedSession) => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /** Calls the watcher when the session of this id is loaded, let go or unloaded, until the returned function is called. */
    watch: watchers.watch,
    add(session: OwnedSession) {
      evicted.delete(session.id);
      hold.add(session);
      for (const listener of listeners) listener(session);
    },
    /** Unloads sessions that have been idle for the time to live. */
    evictIdle: createEviction(deps, inMemory, inLane, unload),
    /** Unloads all sessions, also those that are being loaded. From now on none is loaded. */
    async shutdown() {
      isShutDown = true;
      await lanes.settled();
      hold.stop();
      await Promise.allSettled(inMemory.all().map(({ id }) => inLane(id, () => unload(id, "shutdown"))));
    },
  };
}

/** Where a log ends, to compare: it also differs between two logs with the same number of records. */
export function endOf({ lastSeq, origin }: Pick<OwnedSession, "lastSeq" | "origin">): string {
  return `${lastSeq} ${origin()}`;
}

// --- internal ---

const MIN_CHECK_MS = 20;

type InMemory = ReturnType<typeof createInMemory>;
type Lane = Lanes["inLane"];

/** The sessions in memory: `held` are those whose log this process holds, `resting` those whose log it let go. */
function createInMemory() {
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

/** Keeps track of the logs that this process holds, and lets go of those of idle sessions. */
function createHold(
  { hold, onError }: LoadedDeps,
  { held, resting }: InMemory,
  watchers: ReturnType<typeof createWatchers>,
  inLane: Lane,
) {
  const holdMs = hold * 1000;
  let timer: NodeJS.Timeout | null = null;
  /** Counts the session's log as held from now on. */
  const add = (session: OwnedSession): void => {
    resting.delete(session.id);
    held.set(session.id, session);
    for (const watcher of watchers.of(session.id)) watcher.loaded();
    checkLater();
  };
  const isDue = (session: OwnedSession): boolean => mayRest(session) && session.idleMs >= holdMs;
  /** Runs in the lane of the session. */
  const letGo = async (session: OwnedSession): Promise<void> => {
    const { id } = session;
    if (held.get(id) !== session || !isDue(session)) return;
    held.delete(id);
    resting.set(id, session);
    if (!(await session.letGo())) return add(session);
    for (const watcher of watchers.of(id)) watcher.letGo(session.lastSeq);
  };
  /** Sets the one timer, for the session that is due first. */
  const checkLater = (): void => {
    if (holdMs === 0 || timer !== null || held.size === 0) return;
    const waits = [...held.values()].map((one) => (mayRest(one) ? holdMs - one.idleMs : holdMs));
    const check = () => {
      timer = null;
      for (const one of [...held.values()].filter(isDue))
        inLane(one.id, () => letGo(one)).catch((error) => onError(error, one.id));
      checkLater();
    };
    timer = setTimeout(check, Math.max(MIN_CHECK_MS, Math.min(...waits))).unref();
  };
  return { add, stop: () => clearTimeout(timer ?? undefined) };
}

/** Makes the function that unloads the sessions that have been idle for the time to live. */
function createEviction(
  { ttl, monotonic, onError }: LoadedDeps,
  { find, all }: InMemory,
  inLane: Lane,
  unload: (id: string, how: Unloading) => Promise<void>,
) {
  let nextCheck = 0;
  const isDue = ({ idleMs, state, attended }: OwnedSession): boolean =>
    idleMs >= ttl * 1000 && (state === "idle" || !attended);
  /** Runs in the lane of the session. Checks again: the session may have been used while this waited for the lane. */
  const evict = async (session: OwnedSession): Promise<void> => {
    if (find(session.id) === session && isDue(session)) await unload(session.id, "eviction");
  };
  return (): void => {
    const now = monotonic();
    if (!ttl || now < nextCheck) return;
    // Every operation calls this, and checking every session each time would be slow with many sessions.
    nextCheck = now + Math.min(1000, ttl * 100);
    for (const session of all().filter(isDue))
      inLane(session.id, () => evict(session)).catch((error) => onError(error, session.id));
  };
}

/**
 * Whether the log of a session may be let go. Not if the session has no prompt: it is in no list, so no other process can ask for it. Not if
 * it runs or waits, because then it needs its log.
 */
function mayRest({
  persistent,
  state,
  queued,
  conversation: { turns, openPermissions, openQuestions, openJobs },
}: OwnedSession): boolean {
  const isQuiet = openPermissions.size + openQuestions.size + openJobs.size === 0;
  return persistent && state === "idle" && queued === 0 && turns.length > 0 && isQuiet;
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

/** Remembers an evicted session, and forgets the oldest beyond the limit. */
function remember(ids: Map<string, Evicted>, id: string, last: Evicted): void {
  ids.set(id, last);
  const [oldest] = ids.keys();
  if (ids.size > limits.evictedSessions && oldest !== undefined) ids.delete(oldest);
}
