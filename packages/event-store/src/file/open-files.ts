import { closeSync } from "node:fs";
import { LIMITS } from "../limits.js";

/** The files this process holds open for sessions, bounded. */
export interface OpenFiles {
  /** The descriptor under this key, opened now if it is not. May close the longest unused one. */
  use(key: object, open: () => number): number;
  /** Keeps the descriptor of a key from being closed for room while an asynchronous call works on it. */
  pin(key: object): void;
  unpin(key: object): void;
  /** Closes the key's descriptor, at once or when it is unpinned. */
  drop(key: object): void;
  /** Runs work that opens files of its own; when the process is out of descriptors, closes idle ones and tries again. */
  withRoom<T>(work: () => T): T;
  withRoomAsync<T>(work: () => Promise<T>): Promise<T>;
  /** Places for reads of replays. */
  readonly reads: Slots;
  /** Places for files that are being replaced. */
  readonly replacements: Slots;
}

interface Held {
  readonly fd: number;
  pins: number;
  dropped: boolean;
}

export function createOpenFiles(limit: number = LIMITS.openFiles): OpenFiles {
  // In order of last use: a Map iterates as it was filled.
  const held = new Map<object, Held>();

  const closeIdle = (): boolean => {
    for (const [key, file] of held) {
      if (file.pins > 0) continue;
      held.delete(key);
      closeSync(file.fd);
      return true;
    }
    return false;
  };

  /** True when the error was a lack of descriptors and some could be given back: half of the idle ones, at least one. */
  const makeRoom = (error: unknown): boolean => {
    const { code, cause } = error as NodeJS.ErrnoException;
    const reason = code === "io" ? (cause as NodeJS.ErrnoException | undefined)?.code : code;
    if (reason !== "EMFILE" && reason !== "ENFILE") return false;
    let closed = false;
    for (let rest = Math.ceil(held.size / 2); rest > 0 && closeIdle(); rest--) closed = true;
    return closed;
  };

  const withRoom = <T>(work: () => T): T => {
    for (;;) {
      try {
        return work();
      } catch (error) {
        if (!makeRoom(error)) throw error;
      }
    }
  };

  return {
    use(key, open) {
      let file = held.get(key);
      if (file !== undefined) held.delete(key);
      else {
        while (held.size >= limit && closeIdle()) {}
        file = { fd: withRoom(open), pins: 0, dropped: false };
      }
      held.set(key, file);
      return file.fd;
    },
    pin(key) {
      const file = held.get(key);
      if (file !== undefined) file.pins++;
    },
    unpin(key) {
      const file = held.get(key);
      if (file === undefined) return;
      file.pins--;
      if (file.dropped && file.pins === 0) {
        held.delete(key);
        closeSync(file.fd);
      }
    },
    drop(key) {
      const file = held.get(key);
      if (file === undefined) return;
      file.dropped = true;
      if (file.pins > 0) return;
      held.delete(key);
      closeSync(file.fd);
    },
    withRoom,
    async withRoomAsync(work) {
      for (;;) {
        try {
          return await work();
        } catch (error) {
          if (!makeRoom(error)) throw error;
        }
      }
    },
    reads: createSlots(LIMITS.readsInFlight),
    replacements: createSlots(LIMITS.replacements),
  };
}

/** Runs at most so many pieces of work at a time; the others wait in line. */
export interface Slots {
  /** Waits for a slot; the returned function gives it back. */
  enter(): Promise<() => void>;
  run<T>(work: () => Promise<T>): Promise<T>;
}

export function createSlots(count: number): Slots {
  const waiting: (() => void)[] = [];
  let taken = 0;

  const enter = async (): Promise<() => void> => {
    if (taken < count) taken++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return () => {
      const next = waiting.shift();
      if (next === undefined) taken--;
      else next();
    };
  };

  return {
    enter,
    async run(work) {
      const leave = await enter();
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
