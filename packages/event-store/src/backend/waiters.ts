export type Waiters = ReturnType<typeof createWaiters>;

/** Promises that wait for a number to be reached. Callers that ask between two seals share one. */
export function createWaiters() {
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
    /** True when somebody waits for a number up to `seq`. */
    anyUpTo: (seq: number) => groups.some((group) => group.lowest <= seq),
    /** `alone` for a number that is not given out yet: nobody else should have to wait for it. */
    wait(seq: number, alone: boolean) {
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
    /** Later callers wait for later work: what is under way covers only those that asked so far. */
    seal() {
      open = null;
    },
    reached(seq: number) {
      settle(
        (group) => group.highest <= seq,
        (group) => group.resolve(),
      );
    },
    /** Rejects those that wait for a number above `seq`. Returns whether there were any. */
    failAbove: (seq: number, reason: unknown) =>
      settle(
        (group) => group.highest > seq,
        (group) => group.reject(reason),
      ),
  };
}

/** A promise and what settles it. */
export function deferred<T = void>() {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

// --- internal ---

type Group = ReturnType<typeof createGroup>;

function createGroup(seq: number) {
  return { lowest: seq, highest: seq, ...deferred() };
}
