/** `@chimera/acp-schema/promises`: work that takes turns, promises that are settled from outside, and what is opened on first use. */

export type Lanes<K = string> = ReturnType<typeof createLanes<K>>;

/**
 * Runs pieces of work of the same lane one after another, in the order they came; a failure does not stop the next one. An empty lane
 * starts its work at once. Lanes without work take no memory.
 *
 * @example
 * const lanes = createLanes();
 * await lanes.inLane("notes", async () => appendFileSync("notes", "one line\n"));
 */
export function createLanes<K = string>() {
  const lanes = new Map<K, Promise<void>>();
  return {
    inLane<T>(lane: K, work: () => Promise<T>): Promise<T> {
      const done = lanes.get(lane)?.then(work) ?? work();
      const leave = (): void => {
        if (lanes.get(lane) === settled) lanes.delete(lane);
      };
      const settled = done.then(leave, leave);
      lanes.set(lane, settled);
      return done;
    },
    /** Resolves when the work that a lane has now is done, or with no name that of every lane, also by a failure. */
    settled: async (lane?: K): Promise<void> =>
      void (lane === undefined ? await Promise.all(lanes.values()) : await lanes.get(lane)),
  };
}

/**
 * A promise with the functions that settle it. Node 20 has no `Promise.withResolvers`.
 *
 * @example
 * const { promise, resolve } = withResolvers();
 * child.once("exit", () => resolve());
 */
export function withResolvers<T = void>() {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/**
 * Opens a value on first use. After a failure the next caller tries again, because the cause may be gone by then.
 *
 * @example
 * const notes = lazily(async () => readFileSync("notes.md", "utf8"));
 * const text = await notes.get();
 */
export function lazily<T>(open: () => Promise<T>) {
  let opening: Promise<T> | undefined;
  return {
    get(): Promise<T> {
      opening ??= open().catch((error) => {
        opening = undefined;
        throw error;
      });
      return opening;
    },
    /** The opened value, for the code that closes it. Undefined when nothing was opened, or opening failed: the caller of `get` has the error. */
    opened: async () => opening?.catch(() => undefined),
  };
}
