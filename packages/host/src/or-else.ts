/** What a call gives, or something else where it throws. */
export function orElse<T, U>(call: () => T, otherwise: U): T | U {
  try {
    return call();
  } catch {
    return otherwise;
  }
}
