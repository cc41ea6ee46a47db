/** A cursor past the end of any log: nothing is replayed, live entries follow. */
export const PAST_THE_END = Number.MAX_SAFE_INTEGER;

/**
 * Reads a resume cursor (`Last-Event-ID`, `sinceEventId`): entries with a greater number are replayed. Absent, blank,
 * negative and anything that is not plain decimal digits mean 0, a full replay, because replaying too much loses nothing.
 * Digits beyond the largest safe number mean past the end.
 *
 * @example
 * store.subscribe(id, { from: parseCursor(request.headers["last-event-id"]) }, reader);
 */
export function parseCursor(value: unknown): number {
  if (typeof value === "number") return Number.isInteger(value) && value > 0 ? Math.min(value, PAST_THE_END) : 0;
  if (typeof value !== "string") return 0;
  const digits = /^[ \t]*([0-9]+)[ \t]*$/.exec(value)?.[1];
  return digits === undefined ? 0 : Math.min(Number(digits), PAST_THE_END);
}
