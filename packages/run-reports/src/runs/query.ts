import { ReportError } from "../errors.js";

const SPAN = /^(\d+)\s*([smhdw])$/i;
const SPAN_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?)(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;

/**
 * A point in time, as epoch milliseconds: `30m`, `24h`, `7d` (also `s`, `w`) before `now`, or an ISO-8601 date or date-time,
 * in UTC unless it says otherwise. Null for a blank text. Throws ReportError `invalid_query`.
 *
 * @example
 * const weekAgo = parseSince("7d", Date.now());
 */
export function parseSince(text: string | null | undefined, now: number): number | null {
  const trimmed = text?.trim() ?? "";
  if (trimmed === "") return null;
  const span = SPAN.exec(trimmed);
  if (span) return now - Number(span[1]) * (SPAN_MS[span[2]!.toLowerCase()] ?? 0);
  const instant = parseInstant(trimmed);
  if (instant !== null) return instant;
  throw new ReportError(
    "invalid_query",
    `since: ${JSON.stringify(trimmed.slice(0, 80))} is neither a span such as 7d, 24h, 30m nor an ISO-8601 date`,
  );
}

/**
 * A row limit from a query text; null (no limit) when absent or not positive. Throws ReportError `invalid_query`.
 *
 * @example
 * const limit = parseLimit(url.searchParams.get("limit"));
 */
export function parseLimit(text: string | null | undefined): number | null {
  const trimmed = text?.trim() ?? "";
  if (trimmed === "") return null;
  if (!/^[+-]?\d+$/.test(trimmed)) {
    throw new ReportError("invalid_query", `limit: ${JSON.stringify(trimmed.slice(0, 80))} is not an integer`);
  }
  const limit = Number(trimmed);
  return limit > 0 ? limit : null;
}

/** Epoch milliseconds of an ISO-8601 text, UTC unless it says otherwise; null when it is none. */
export function parseInstant(text: string): number | null {
  const match = ISO.exec(text.trim());
  if (!match) return null;
  const [, date = "", time = "00:00", zone = "Z"] = match;
  const midnight = Date.parse(`${date}T00:00Z`);
  // Date.parse lets 30 February roll over into March.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(date)) return null;
  const offset = /^[+-]\d{2}$/.test(zone) ? `${zone}:00` : zone.replace(/^([+-]\d{2})(\d{2})$/, "$1:$2").toUpperCase();
  const instant = Date.parse(`${date}T${time.replace(",", ".")}${offset}`);
  return Number.isNaN(instant) ? null : instant;
}
