/** Opens on first use. After a failure the next caller tries again: what was missing may be there by then. */
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
    /** What was opened, for the code that closes it; undefined when it never was, or failed: its opener has the error. */
    opened: async () => opening?.catch(() => undefined),
  };
}
