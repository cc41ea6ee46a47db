export type Waiters = ReturnType<typeof createWaiters>;

/** Promises that resolve when a number is reached. Callers between two calls of `seal` share one promise. */
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
    /** True when a caller waits for a number up to `seq`. */
    anyUpTo: (seq: number) => groups.some((group) => group.lowest <= seq),
    /** `alone` for a number that is not given out yet: other callers must not have to wait for it. */
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
    /** Ends the sharing: the work that starts now covers only callers up to here, and later ones wait for later work. */
    seal() {
      open = null;
    },
    reached(seq: number) {
      settle(
        (group) => group.highest <= seq,
        (group) => group.resolve(),
      );
    },
    /** Rejects callers that wait for a number above `seq`. Returns whether there were any. */
    failAbove: (seq: number, reason: unknown) =>
      settle(
        (group) => group.highest > seq,
        (group) => group.reject(reason),
      ),
  };
}

/** A promise with the functions that settle it, as of `@chimera/acp-schema/promises`: this package depends on none. */
export function withResolvers<T = void>() {
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
  return { lowest: seq, highest: seq, ...withResolvers() };
}
