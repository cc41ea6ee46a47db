/** Lenient reading of what a log holds: older programs, other agents and damage all leave odd values. */

export type Fields = Readonly<Record<string, unknown>>;

/** The value as an object; an empty one when it is none. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** The value as text: itself, its JSON, or blank when there is none. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  return JSON.stringify(value) ?? "";
}

export function numberOr<T>(value: unknown, fallback: T): number | T {
  return typeof value === "number" && Number.isFinite(value) ? value : fallback;
}
