/** Reads values of a log leniently, because older programs, other agents and damage all leave odd values. */

export type Fields = Readonly<Record<string, unknown>>;

/** The value if it is an object, or else an empty object. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** The value as text: itself, its JSON, or empty without a value. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  return JSON.stringify(value) ?? "";
}

export function numberOr<T>(value: unknown, fallback: T): number | T {
  return typeof value === "number" && Number.isFinite(value) ? value : fallback;
}
