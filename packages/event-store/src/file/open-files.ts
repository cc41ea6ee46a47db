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
  /** Waits for one of the places for replays; the returned function gives it back. */
  enter(): Promise<() => void>;
}

interface Held {
  readonly fd: number;
  pins: number;
  dropped: boolean;
}

export function createOpenFiles(
  writers: number = LIMITS.openWriterFiles,
  readers: number = LIMITS.openReaderFiles,
): OpenFiles {
  // In order of last use: a Map iterates as it was filled.
  const held = new Map<object, Held>();
  const waiting: (() => void)[] = [];
  let reading = 0;

  const closeIdle = (): boolean => {
    for (const [key, file] of held) {
      if (file.pins > 0) continue;
      held.delete(key);
      closeSync(file.fd);
      return true;
    }
    return false;
  };

  const openWithRoom = (open: () => number): number => {
    try {
      return open();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if ((code !== "EMFILE" && code !== "ENFILE") || !closeIdle()) throw error;
      return open();
    }
  };

  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) reading--;
    else next();
  };

  return {
    use(key, open) {
      let file = held.get(key);
      if (file !== undefined) held.delete(key);
      else {
        while (held.size >= writers && closeIdle()) {}
        file = { fd: openWithRoom(open), pins: 0, dropped: false };
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
    async enter() {
      if (reading < readers) reading++;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      let left = false;
      return () => {
        if (left) return;
        left = true;
        leave();
      };
    },
  };
}
