/** JSON from an untrusted source. */
import { asText, isJsonObject, parseJson } from "@chimera/acp-schema/lenient";

export { asText, isJsonObject, parseJson };

export type JsonObject = Record<string, unknown>;

/** Whether a value nests deeper than this. Very deep values overflow the stack of whatever reads or writes them. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => isDeeperThan(levels - 1, child));
}

/** Allows for documents in an editor's format, which nest four levels for each level that a person sees. */
export const DEEPEST_ARGS = 64;

/** Most characters in one call's arguments: more than a model writes in one reply. */
export const LONGEST_ARGS = 1024 * 1024;

/** Parses the arguments of a call; null when the text is not an object that providers would accept in a later request. */
export function parseObject(text: string): JsonObject | null {
  const value = text.length > LONGEST_ARGS ? null : parseJson(text);
  return isJsonObject(value) && !isDeeperThan(DEEPEST_ARGS, value) ? value : null;
}

/** Whether a value has more than this many parts. Each part costs every program that handles the value. */
export function holdsMoreThan(values: number, value: unknown): boolean {
  let left = values;
  const count = (each: unknown): boolean => {
    left -= 1;
    return left < 0 || (typeof each === "object" && each !== null && Object.values(each).some(count));
  };
  return count(value);
}
