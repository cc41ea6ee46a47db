/** Values that came as JSON, from anybody. */
export type JsonObject = Record<string, unknown>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** How deep a value nests: what nests without end cannot be written, and what reads it may end with its stack. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => isDeeperThan(levels - 1, child));
}

/** A document, as an editor's tool may take it, nests four levels for each one that a person sees. */
export const DEEPEST_ARGS = 64;

/** Characters of one call's arguments: more than a model writes in one reply. */
export const LONGEST_ARGS = 1024 * 1024;

/** The value that a text says; undefined where it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The arguments of a call; null when the text is not an object that a provider would take back. */
export function parseObject(text: string): JsonObject | null {
  const value = text.length > LONGEST_ARGS ? null : parseJson(text);
  return isJsonObject(value) && !isDeeperThan(DEEPEST_ARGS, value) ? value : null;
}

/** Whether there is more in a value than anybody means; each part of it costs every program that handles it. */
export function holdsMoreThan(values: number, value: unknown): boolean {
  let left = values;
  const count = (each: unknown): boolean => {
    left -= 1;
    return left < 0 || (typeof each === "object" && each !== null && Object.values(each).some(count));
  };
  return count(value);
}

/** A field that should be text: anything else is taken for none. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
