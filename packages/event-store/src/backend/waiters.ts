/** Promises that wait for a number to be reached. Callers that ask between two seals share one. */
export interface Waiters {
  /** True when somebody waits for a number up to `seq`. */
  anyUpTo(seq: number): boolean;
  /** `alone` for a number that is not given out yet: nobody else should have to wait for it. */
  wait(seq: number, alone: boolean): Promise<void>;
  /** Later callers wait for later work: what is under way covers only those that asked so far. */
  seal(): void;
  reached(seq: number): void;
  /** Rejects those that wait for a number above `seq`. Returns whether there were any. */
  failAbove(seq: number, reason: unknown): boolean;
}

interface Group {
  lowest: number;
  highest: number;
  readonly promise: Promise<void>;
  resolve(): void;
  reject(reason: unknown): void;
}

export function createWaiters(): Waiters {
  let groups: Group[] = [];
  let open: Group | null = null;

  const settle = (isDue: (group: Group) => boolean, act: (group: Group) => void): boolean => {
    const due = groups.filter(isDue);
    if (due.length === 0) return false;
    groups = groups.filter((group) => !due.includes(group));
    if (open !== null && due.includes(open)) open = null;
    due.forEach(act);
    return true;
  };

  return {
    anyUpTo: (seq) => groups.some((group) => group.lowest <= seq),
    wait(seq, alone) {
      if (alone) {
        const group = createGroup(seq);
        groups.push(group);
        return group.promise;
      }
      if (open === null) {
        open = createGroup(seq);
        groups.push(open);
      }
      open.lowest = Math.min(open.lowest, seq);
      open.highest = Math.max(open.highest, seq);
      return open.promise;
    },
    seal() {
      open = null;
    },
    reached(seq) {
      settle(
        (group) => group.highest <= seq,
        (group) => group.resolve(),
      );
    },
    failAbove: (seq, reason) =>
      settle(
        (group) => group.highest > seq,
        (group) => group.reject(reason),
      ),
  };
}

// --- internal ---

function createGroup(seq: number): Group {
  let resolve!: () => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { lowest: seq, highest: seq, promise, resolve, reject };
}
