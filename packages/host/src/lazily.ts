/** What is opened when it is first needed. */
export interface Lazy<T> {
  get(): Promise<T>;
  /** What was opened, for the code that closes it; undefined when it never was. */
  opened(): Promise<T | undefined>;
}

/** Opens on first use. After a failure the next caller tries again: what was missing may be there by then. */
export function lazily<T>(open: () => Promise<T>): Lazy<T> {
  let opening: Promise<T> | undefined;
  return {
    get() {
      opening ??= open().catch((error) => {
        opening = undefined;
        throw error;
      });
      return opening;
    },
    // The caller that opened it has the error.
    opened: async () => opening?.catch(() => undefined),
  };
}
