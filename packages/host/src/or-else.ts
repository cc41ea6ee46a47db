/** The result of a call, or another value when it throws. */
export function orElse<T, U>(call: () => T, otherwise: U): T | U {
  try {
    return call();
  } catch {
    return otherwise;
  }
}
