/** Streams that may have to be begun again before they have given anything. */

/**
 * What `open` gives, begun anew while its first item fails and `again` says so. From the second item on it costs nothing: there is
 * one stream for every model, and a batch of it for every piece of the network.
 */
export function beginAgain<T>(
  open: () => AsyncIterable<T> | Promise<AsyncIterable<T>>,
  again: (error: unknown) => boolean,
): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      let inner: AsyncIterator<T> | null = null;
      let begun = false;
      const begin = async (): Promise<IteratorResult<T>> => {
        for (;;) {
          inner = (await open())[Symbol.asyncIterator]();
          try {
            const first = await inner.next();
            begun = true;
            return first;
          } catch (error) {
            if (!again(error)) throw error;
          }
        }
      };
      return {
        next: () => (begun && inner ? inner.next() : begin()),
        return: async () => (await inner?.return?.()) ?? { value: undefined, done: true },
      };
    },
  };
}
