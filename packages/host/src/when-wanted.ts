/** What is opened when somebody first wants it. After a failure the next one tries again: what was missing may be there by then. */
export interface WhenWanted<T> {
  get(): Promise<T>;
  /** What is open, for who ends it; undefined when nobody wanted it, or it could not be opened. */
  opened(): Promise<T | undefined>;
}

export function whenWanted<T>(open: () => Promise<T>): WhenWanted<T> {
  let opening: Promise<T> | undefined;
  return {
    get() {
      opening ??= open().catch((error) => {
        opening = undefined;
        throw error;
      });
      return opening;
    },
    // Whoever wanted it was told why there is none.
    opened: async () => opening?.catch(() => undefined),
  };
}
