import { storageError } from "../errors.js";
import type { Durability, EventBody, LogWriter } from "../types.js";
import type { Backend, Held } from "./backend.js";
import { type Broadcast, createBroadcast, type WindowBudget } from "./broadcast.js";
import { createLogWriter, createTick, type HeldWriter } from "./log-writer.js";

/** A log that this process writes or follows. */
interface LiveLog<E extends EventBody> {
  readonly id: string;
  readonly broadcast: Broadcast<E>;
  /** Set while this process writes the session; otherwise another one may, and the backend is watched. */
  writer: HeldWriter<E> | null;
  unwatch: (() => void) | null;
}

type Source<E extends EventBody> = Pick<Backend<E, object>, "read" | "head" | "watch">;

/** The logs that this process writes or follows, with their readers. */
export function createLiveLogs<E extends EventBody>(
  backend: Source<E>,
  { durability, clock }: { readonly durability: Durability; readonly clock: () => number },
) {
  const logs = new Map<string, LiveLog<E>>();
  const budget = { used: 0 };
  const atEndOfTick = createTick();
  let isClosed = false;

  const isLive = (log: LiveLog<E>): boolean => logs.get(log.id) === log;
  /** Ends the readers and forgets the log. */
  const end = (id: string, reason?: unknown): void => {
    const log = logs.get(id);
    logs.delete(id);
    log?.unwatch?.();
    log?.broadcast.end(reason);
  };
  const endLive = (log: LiveLog<E>, reason?: unknown): void => {
    if (isLive(log)) end(log.id, reason);
  };
  const add = (id: string): LiveLog<E> => {
    const log: LiveLog<E> = createLiveLog(id, backend, budget, () => log.writer === null && endLive(log));
    logs.set(id, log);
    return log;
  };
  /** Follows what other processes write. A log that cannot be followed is forgotten. */
  const watch = (log: LiveLog<E>): void => {
    const { id } = log;
    const { advance, publish } = log.broadcast;
    try {
      log.unwatch = backend.watch(id, { advance, publish, end: (reason) => endLive(log, reason) });
    } catch (cause) {
      const error = storageError(cause, `cannot read session ${id}`);
      end(id, error);
      throw error;
    }
  };
  const onClose = (log: LiveLog<E>): void => {
    log.writer = null;
    if (!isLive(log)) return;
    try {
      // The readers stay, and follow the next writer.
      if (!isClosed && log.broadcast.readers > 0) watch(log);
      else end(log.id);
    } catch {
      // The readers have ended with the error.
    }
  };

  return {
    has: (id: string) => logs.has(id),
    writer: (id: string) => logs.get(id)?.writer ?? null,
    isClosed: () => isClosed,
    end,
    forReading(id: string) {
      const known = logs.get(id);
      if (known !== undefined) return known;
      const log = add(id);
      watch(log);
      return log;
    },
    openWriter(id: string, held: Held): LogWriter<E> {
      const log = logs.get(id) ?? add(id);
      log.unwatch?.();
      log.unwatch = null;
      const { advance, publish } = log.broadcast;
      advance(held.lastSeq);
      const deps = { id, held, durability, clock, atEndOfTick, publish };
      log.writer = createLogWriter<E>({ ...deps, onClose: () => onClose(log) });
      return log.writer;
    },
    /** Closes every writer and ends every reader. Resolves with the first failure. */
    async close() {
      isClosed = true;
      const results = await Promise.allSettled([...logs.values()].map((log) => log.writer?.close()));
      for (const id of [...logs.keys()]) end(id);
      return results.find((result) => result.status === "rejected");
    },
  };
}

// --- internal ---

function createLiveLog<E extends EventBody>(
  id: string,
  backend: Source<E>,
  budget: WindowBudget,
  onIdle: () => unknown,
): LiveLog<E> {
  const lastSeq = (): number => log.writer?.lastSeq ?? 0;
  const log: LiveLog<E> = {
    id,
    writer: null,
    unwatch: null,
    broadcast: createBroadcast<E>({
      budget,
      source: (range, take) => backend.read(id, range, take),
      lastSeq,
      // Records of this process's own writer reach its readers through `publish`, not from here. A stored head above them was written
      // by another process: this one has lost the session and does not know it yet.
      storedHead: async () => {
        const stored = await backend.head(id);
        return stored > lastSeq() ? stored : 0;
      },
      onIdle,
    }),
  };
  return log;
}
