/** `@chimera/acp-schema/lenient`: reads what may be missing, broken or of another kind. No schema comes with it. */

/**
 * The result of a call, or another value when it throws.
 *
 * @example
 * const names = orElse(() => readdirSync("/run/servers"), []);
 */
export function orElse<T, U>(call: () => T, otherwise: U): T | U {
  try {
    return call();
  } catch {
    return otherwise;
  }
}

/**
 * True for an object of JSON, which is neither a list nor null.
 *
 * @example
 * isJsonObject(JSON.parse("[]")); // false
 */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * What a text of JSON says; undefined when it is not JSON.
 *
 * @example
 * parseJson("{"); // undefined
 */
export function parseJson(text: string): unknown {
  return orElse(() => JSON.parse(text), undefined);
}

/**
 * A field that should be text; any other value becomes the empty text.
 *
 * @example
 * asText(7); // ""
 */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
