import { readSummary, type Summary } from "@chimera/acp-schema/summary";
import { formatPageEnd, type ListedSession, type ListFilter, sessionPrefix, sessionTime } from "@chimera/event-store";
import { ReportError } from "../errors.js";

/** A session as a row of reports. */
export type ReportedRun = ReturnType<typeof runOf>;

/** The part of a store that reports need: its list, which comes from an index. They open no session. */
export interface RunStore {
  list(filter: ListFilter): Promise<{ readonly sessions: readonly ListedSession<object>[] }>;
}

export interface RunQuery {
  /** The present time in epoch milliseconds, from which `since` counts back. */
  readonly now: number;
  /** A text for `parseSince`. Runs without a start time are included. */
  readonly since?: string | null;
  /** A part of the model's name, in any case. Empty and `all` mean every model. */
  readonly model?: string | null;
  /** Most runs, newest first, after the other filters. @defaultValue all; so do zero and negative numbers */
  readonly limit?: number | null;
  /** The `next` of the previous page. */
  readonly after?: string;
  /** Only runs of programs with these id prefixes. @defaultValue all programs */
  readonly prefixes?: readonly string[];
}

/** The runs for a query, newest first, and the start of the next page. Throws ReportError `invalid_query`. */
export async function selectRuns(store: RunStore, query: RunQuery) {
  const since = parseSince(query.since, query.now);
  const model = modelFilter(query.model)?.toLowerCase() ?? null;
  const limit = query.limit != null && query.limit > 0 ? query.limit : Number.POSITIVE_INFINITY;
  // A store cannot filter by a part of a model's name or by the start time, so the limit is applied here.
  const isFiltered = since !== null || model !== null;
  const { sessions } = await store.list({
    prompted: true,
    ...(query.prefixes && { prefixes: query.prefixes }),
    ...(Number.isFinite(limit) && !isFiltered && { limit: limit + 1 }),
    ...(query.after !== undefined && { after: query.after }),
  });
  const found = sessions
    .map(({ id, summary, touched }) => ({ id, touched, run: runOf(readSummary(id, summary)) }))
    .filter(({ run }) => startedSince(run, since) && (model === null || run.model.toLowerCase().includes(model)));
  const last = found.length > limit ? found[limit - 1] : undefined;
  return {
    runs: found.slice(0, limit).map(({ run }) => run),
    // The order of the list: by the time in the id, or else by the last write.
    next: last ? formatPageEnd([sessionTime(last.id) || last.touched, last.id]) : null,
  };
}

/** The model filter to show in a report; null when it filters nothing. */
export function modelFilter(model: string | null | undefined): string | null {
  const trimmed = model?.trim() ?? "";
  return trimmed === "" || trimmed.toLowerCase() === "all" ? null : trimmed;
}

/** The `since` filter to show in a report. */
export function sinceFilter(since: string | null | undefined): string | null {
  return since == null || since.trim() === "" ? null : since;
}

/**
 * Parses a point in time to epoch milliseconds: `30m`, `24h`, `7d` (also `s`, `w`) before `now`, or an ISO-8601 date or date-time, in UTC
 * unless it has another zone. Null for an empty text. Throws ReportError `invalid_query`.
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
 * Parses a row limit; null, for no limit, when it is absent or not positive. Throws ReportError `invalid_query`.
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

// --- internal ---

function startedSince(run: ReportedRun, since: number | null): boolean {
  if (since === null || run.started_at === null) return true;
  const started = parseInstant(run.started_at);
  return started === null || started >= since;
}

function runOf(summary: Summary) {
  const { run_id, started_at, ended_at, model, prompt, success, cost_usd, steps, tool_calls_total } = summary;
  const { total_tokens, input_tokens, output_tokens, cache_tokens } = summary;
  const tokens = { total_tokens, input_tokens, output_tokens, cache_tokens };
  // An id that a person chose does not name a program.
  const source = Number.isNaN(sessionTime(summary.session_id)) ? "unknown" : sessionPrefix(summary.session_id);
  const tool_calls = tool_calls_total;
  return { run_id, started_at, ended_at, model, prompt, success, cost_usd, steps, tool_calls, source, tokens };
}

const SPAN = /^(\d+)\s*([smhdw])$/i;
const SPAN_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?)(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;

/** Epoch milliseconds of an ISO-8601 text, in UTC unless it has another zone; null for any other text. */
function parseInstant(text: string): number | null {
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
