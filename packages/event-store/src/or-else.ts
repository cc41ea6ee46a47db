/** The result of the call, or the other value when it throws. As of `@chimera/acp-schema/lenient`: this package depends on none. */
export function orElse<T, U>(call: () => T, otherwise: U): T | U {
  try {
    return call();
  } catch {
    return otherwise;
  }
}
