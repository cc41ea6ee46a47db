/** The sessions in memory: found, and taken out again on request, when idle for too long, or all at once. */
import { limits } from "./limits.js";
import type { Session } from "./session.js";
import type { Flags, Settings } from "./settings.js";

/** What clients switch in memory alone; the rest is in the log. */
export type Switched = Flags & Pick<Settings, "options">;

export interface LiveSessions {
  find(id: string): Session | undefined;
  all(): Session[];
  add(session: Session): void;
  /** Takes a session out of memory; the log stays. Resolves when everything of it is let go. */
  unload(id: string, by: "cancel" | "eviction"): Promise<void>;
  /** Resolves when a session of this id that is on its way out has let go of its log. */
  gone(id: string): Promise<void>;
  /** Unloads what has been idle for the time to live. */
  evictIdle(): void;
  /** What clients had switched in a session that was evicted since: it was not closed, so they still count on it. */
  switched(id: string): Switched | undefined;
  unloadAll(): Promise<void>;
}

export function createLiveSessions(deps: {
  /** Seconds; 0 keeps sessions loaded. */
  readonly ttl: number;
  readonly monotonic: () => number;
  /** Lets go of what was kept for a session that has closed. */
  readonly release: (session: Session) => Promise<void>;
  readonly onError: (error: unknown, sessionId: string) => void;
}): LiveSessions {
  const { ttl, monotonic } = deps;
  const live = new Map<string, Session>();
  const unloading = new Map<string, Promise<void>>();
  const evicted = new Map<string, Switched>();
  let nextEviction = 0;

  const unload = async (id: string, by: "cancel" | "eviction"): Promise<void> => {
    const session = live.get(id);
    evicted.delete(id);
    if (!session) return;
    if (by === "eviction") keep(session);
    live.delete(id);
    const left = session.close(by).then(() => deps.release(session));
    const settled = left.then(
      () => void unloading.delete(id),
      () => void unloading.delete(id),
    );
    unloading.set(id, settled);
    await left;
  };

  const keep = ({ id, settings }: Session): void => {
    const { autoApproveWrites, autoApproveExecute, readOnly, options } = settings;
    evicted.set(id, { autoApproveWrites, autoApproveExecute, readOnly, options });
    const [oldest] = evicted.keys();
    if (evicted.size > limits.evictedSettings && oldest !== undefined) evicted.delete(oldest);
  };

  return {
    switched: (id) => evicted.get(id),
    find: (id) => live.get(id),
    all: () => [...live.values()],
    add(session) {
      live.set(session.id, session);
      evicted.delete(session.id);
    },
    unload,
    gone: (id) => unloading.get(id) ?? Promise.resolve(),
    evictIdle() {
      const now = monotonic();
      if (!ttl || now < nextEviction) return;
      // Every operation asks; looking at each session every time would make them dearer the more there are.
      nextEviction = now + Math.min(1000, ttl * 100);
      for (const session of live.values()) {
        if (session.idleMs < ttl * 1000 || (session.state !== "idle" && session.attended)) continue;
        unload(session.id, "eviction").catch((error) => deps.onError(error, session.id));
      }
    },
    async unloadAll() {
      await Promise.allSettled([...live.keys()].map((id) => unload(id, "cancel")));
      await Promise.allSettled(unloading.values());
    },
  };
}
