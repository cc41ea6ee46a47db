import { type Broadcast, createBroadcast } from "../backend/broadcast.js";
import type { FileLogWriter } from "../backend/log-writer.js";
import { createWindowBudget } from "../backend/window.js";
import { LIMITS } from "../limits.js";
import type { EventBody } from "../types.js";
import { openTail, type Tail } from "./follow.js";
import type { LogFiles } from "./segment/log-files.js";
import { replayOf } from "./segment/replay-log.js";

/** A log that somebody in this process reads live or writes. */
export interface LiveLog<E extends EventBody> {
  readonly broadcast: Broadcast<E>;
  /** Set while this process writes the session; otherwise another one may, and the directory is watched. */
  writer: FileLogWriter<E> | null;
  /** Epoch milliseconds of the last write by this process. */
  touched: number;
}

/** The logs in use, and the one timer that looks after those other processes write. */
export interface LiveLogs<E extends EventBody> {
  get(id: string): LiveLog<E> | undefined;
  /** The log of a session for its readers. */
  forReading(id: string): LiveLog<E>;
  /** The log of a session that this process starts to write at `head`. */
  forWriting(id: string, head: number): LiveLog<E>;
  /** The writer is gone: readers stay, and follow whoever writes next. */
  writerClosed(id: string): void;
  /** Ends the readers and forgets the log. */
  end(id: string, reason?: unknown): void;
  endAll(): void;
  writers(): FileLogWriter<E>[];
}

interface Followed<E extends EventBody> extends LiveLog<E> {
  tail: Tail<E> | null;
}

/** About 8 MiB of a log that grew faster than it was looked at; the rest waits, so that others get their turn. */
const POLLS_PER_LOOK = 8;
/** The time between two looks is at least so many times what the last one took. */
const PACE = 4;

export function createLiveLogs<E extends EventBody>(filesOf: (id: string) => LogFiles): LiveLogs<E> {
  const logs = new Map<string, Followed<E>>();
  const budget = createWindowBudget();
  let timer: NodeJS.Timeout | null = null;

  const watch = (afterMs: number = LIMITS.followMs): void => {
    timer ??= setTimeout(look, afterMs);
  };
  const rest = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };

  const end = (id: string, reason?: unknown): void => {
    const log = logs.get(id);
    logs.delete(id);
    log?.broadcast.end(reason);
    if (logs.size === 0) rest();
  };

  const look = (): void => {
    const started = performance.now();
    rest();
    const followed = [...logs].filter(([, log]) => log.tail !== null);
    for (const [id, log] of followed) {
      try {
        for (let round = 0; round < POLLS_PER_LOOK; round++) {
          const found = log.tail?.poll() ?? [];
          if (found.length === 0) break;
          log.broadcast.publish(found);
        }
      } catch (error) {
        // A deleted session ends its readers; anything else may pass, as a lack of descriptors does.
        if ((error as NodeJS.ErrnoException).code === "ENOENT") end(id);
      }
    }
    // Directories that take long to look at take a part of the time, not all of it.
    if (followed.length > 0) watch(Math.max(LIMITS.followMs, PACE * (performance.now() - started)));
  };

  const add = (id: string, head: number, tail: Tail<E> | null): Followed<E> => {
    const log: Followed<E> = {
      writer: null,
      touched: 0,
      tail,
      broadcast: createBroadcast<E>({
        budget,
        head,
        lastSeq: () => log.writer?.lastSeq ?? 0,
        source: replayOf<E>(filesOf(id)),
        onIdle: () => {
          if (log.writer === null) end(id);
        },
      }),
    };
    logs.set(id, log);
    if (tail !== null) watch();
    return log;
  };

  return {
    get: (id) => logs.get(id),
    forReading(id) {
      const known = logs.get(id);
      if (known !== undefined) return known;
      const tail = openTail<E>(filesOf(id).directory);
      return add(id, tail.lastSeq, tail);
    },
    forWriting(id, head) {
      const log = logs.get(id) ?? add(id, head, null);
      log.tail = null;
      log.broadcast.advance(head);
      return log;
    },
    writerClosed(id) {
      const log = logs.get(id);
      if (log === undefined) return;
      log.writer = null;
      try {
        if (log.broadcast.readers === 0) end(id);
        else {
          log.tail = openTail<E>(filesOf(id).directory);
          watch();
        }
      } catch (error) {
        end(id, error);
      }
    },
    end,
    endAll() {
      for (const id of [...logs.keys()]) end(id);
    },
    writers: () => [...logs.values()].flatMap((log) => log.writer ?? []),
  };
}
