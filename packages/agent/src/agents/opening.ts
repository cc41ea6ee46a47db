/** An iterable that needs time before it can start, without a cost for every item once it has. */
export interface Opened<T> {
  /** Comes before everything else. */
  readonly first: readonly T[];
  readonly rest: AsyncIterable<T>;
}

/** `open` runs with the first `next()`; afterwards the items of `rest` pass through untouched. */
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
