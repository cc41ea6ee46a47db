/** `@chimera/acp-schema/outbox`: makes an async iterable of pushed items, such as an engine's events, with one promise per item. */

/** A producer pushes items here. For back-pressure it may wait until the consumer has taken them all. */
export interface Outbox<T> {
  push(item: T): void;
  /** Resolves when the consumer has taken all items and asks for the next one, or has left. */
  taken(): Promise<void>;
  /** How many items the consumer has not taken yet. */
  readonly pending: number;
}

/**
 * Starts `produce` with the first `next()`. Calls `onLeave` if the consumer leaves early; later pushes are then dropped.
 *
 * @example
 * const lines = createOutbox<string>(async (outbox) => outbox.push("one"), () => reader.destroy());
 * for await (const line of lines) console.log(line);
 */
export function createOutbox<T>(produce: (outbox: Outbox<T>) => Promise<void>, onLeave: () => void): AsyncIterable<T> {
  let items: T[] = [];
  let head = 0;
  let state: "idle" | "running" | "ended" | "left" = "idle";
  let failure: { error: unknown } | undefined;
  let waiting: { resolve(result: IteratorResult<T, undefined>): void; reject(error: unknown): void } | undefined;
  const takers: (() => void)[] = [];

  const finished: IteratorResult<T, undefined> = { value: undefined, done: true };
  const allTaken = (): void => {
    for (const resolve of takers.splice(0)) resolve();
  };

  const outbox: Outbox<T> = {
    push(item) {
      if (state !== "running") return;
      if (waiting) {
        const { resolve } = waiting;
        waiting = undefined;
        resolve({ value: item, done: false });
      } else items.push(item);
    },
    taken() {
      if (waiting || state !== "running") return Promise.resolve();
      return new Promise((resolve) => takers.push(resolve));
    },
    get pending() {
      return items.length - head;
    },
  };

  const end = (): void => {
    if (state === "running") state = "ended";
    if (!waiting) return;
    const { resolve, reject } = waiting;
    waiting = undefined;
    if (failure) reject(failure.error);
    else resolve(finished);
  };

  const start = (): void => {
    state = "running";
    produce(outbox).then(end, (error: unknown) => {
      failure = { error };
      end();
    });
  };

  const iterator: AsyncIterator<T, undefined> = {
    next() {
      if (state === "idle") start();
      if (head < items.length) {
        const value = items[head++] as T;
        if (head === items.length) {
          items = [];
          head = 0;
        }
        return Promise.resolve({ value, done: false });
      }
      if (state !== "running") return failure ? Promise.reject(failure.error) : Promise.resolve(finished);
      const next = new Promise<IteratorResult<T, undefined>>((resolve, reject) => {
        waiting = { resolve, reject };
      });
      allTaken();
      return next;
    },
    return() {
      const early = state === "running";
      state = "left";
      items = [];
      head = 0;
      if (early) onLeave();
      allTaken();
      return Promise.resolve(finished);
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/**
 * An iterable that needs time before it can start, and costs nothing per item afterwards: `open` runs with the first `next()`, and then
 * the items of `rest` are passed on.
 *
 * @example
 * const events = opening(async () => ({ first: [], rest: (await loadAgent()).run(turn) }));
 */
export function opening<T>(open: () => Promise<Opened<T>>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const waiting: T[] = [];
      let inner: AsyncIterator<T> | undefined;
      const start = async (): Promise<IteratorResult<T>> => {
        const { first, rest } = await open();
        waiting.push(...first);
        inner = rest[Symbol.asyncIterator]();
        return next();
      };
      const next = (): Promise<IteratorResult<T>> => {
        if (waiting.length > 0) return Promise.resolve({ value: waiting.shift() as T, done: false });
        return inner ? inner.next() : start();
      };
      const leave = async (): Promise<IteratorResult<T>> =>
        (await inner?.return?.()) ?? { value: undefined, done: true };
      return { next, return: leave };
    },
  };
}

// --- internal ---

interface Opened<T> {
  /** The items before those of `rest`. */
  readonly first: readonly T[];
  readonly rest: AsyncIterable<T>;
}
