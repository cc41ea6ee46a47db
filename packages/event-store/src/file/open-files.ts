import { closeSync } from "node:fs";
import { LIMITS } from "../limits.js";

export type OpenFiles = ReturnType<typeof createOpenFiles>;

/** The files this process holds open for sessions, bounded. */
export function createOpenFiles() {
  // In order of last use: a Map iterates as it was filled.
  const held = new Map<object, { readonly fd: number; pins: number; dropped: boolean }>();

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

  /** Runs work that opens files of its own; when the process is out of descriptors, closes idle ones and tries again. */
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
    /** The descriptor under this key, opened now if it is not. May close the longest unused one. */
    use(key: object, open: () => number) {
      let file = held.get(key);
      if (file !== undefined) held.delete(key);
      else {
        while (held.size >= LIMITS.openFiles && closeIdle()) {}
        file = { fd: withRoom(open), pins: 0, dropped: false };
      }
      held.set(key, file);
      return file.fd;
    },
    /** Keeps the descriptor of a key from being closed for room while an asynchronous call works on it. */
    pin(key: object) {
      const file = held.get(key);
      if (file !== undefined) file.pins++;
    },
    unpin(key: object) {
      const file = held.get(key);
      if (file === undefined) return;
      file.pins--;
      if (file.dropped && file.pins === 0) {
        held.delete(key);
        closeSync(file.fd);
      }
    },
    /** Closes the key's descriptor, at once or when it is unpinned. */
    drop(key: object) {
      const file = held.get(key);
      if (file === undefined) return;
      file.dropped = true;
      if (file.pins > 0) return;
      held.delete(key);
      closeSync(file.fd);
    },
    withRoom,
    async withRoomAsync<T>(work: () => Promise<T>): Promise<T> {
      for (;;) {
        try {
          return await work();
        } catch (error) {
          if (!makeRoom(error)) throw error;
        }
      }
    },
    /** Runs a read of a replay, a few at a time. */
    reading: createSlots(LIMITS.readsInFlight),
    /** Runs the replacement of a file, a few at a time. */
    replacing: createSlots(LIMITS.replacements),
  };
}

/** Returns a function that runs at most so many pieces of work at a time; the others wait in line. */
export function createSlots(count: number) {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (taken < count) taken++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) taken--;
      else next();
    }
  };
}
