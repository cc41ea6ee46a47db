/** Opens a value on first use. After a failure the next caller tries again, because the cause may be gone by then. */
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
