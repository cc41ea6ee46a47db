import { readSummary, type Summary } from "@chimera/acp-schema/summary";
import { formatPageEnd, type ListedSession, type ListFilter, sessionPrefix, sessionTime } from "@chimera/event-store";
import { ReportError } from "../errors.js";

/** A session as lists and rollups see it. */
export type ReportedRun = ReturnType<typeof runOf>;

/** All that a rollup needs of a store: its list, which comes from an index. No session is opened. */
export interface RunStore {
  list(filter: ListFilter): Promise<{ readonly sessions: readonly ListedSession<object>[] }>;
}

export interface RunQuery {
  /** Epoch milliseconds, what `since` spans are counted back from. */
  readonly now: number;
  /** As `parseSince` reads it. A run that does not say when it started is kept. */
  readonly since?: string | null;
  /** A part of the model's name, in any case. Blank and `all` mean every model. */
  readonly model?: string | null;
  /** At most so many runs, newest first, after the other filters. Absent, zero or negative: all. */
  readonly limit?: number | null;
  /** The `next` of the page before. */
  readonly after?: string;
  /** Only runs of these programs, by the prefix of their ids. Absent: every program that wrote to the store. */
  readonly prefixes?: readonly string[];
}

/** The runs a query asks for, newest first, and where the next page begins. Throws ReportError `invalid_query`. */
export async function selectRuns(store: RunStore, query: RunQuery) {
  const since = parseSince(query.since, query.now);
  const model = modelFilter(query.model)?.toLowerCase() ?? null;
  const limit = query.limit != null && query.limit > 0 ? query.limit : Number.POSITIVE_INFINITY;
  // A part of a model's name and the time in a summary are more than a store filters by.
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
    // The order of the list: by the time in the id, else by the last write.
    next: last ? formatPageEnd([sessionTime(last.id) || last.touched, last.id]) : null,
  };
}

/** The model filter as reports echo it: null when it filters nothing. */
export function modelFilter(model: string | null | undefined): string | null {
  const trimmed = model?.trim() ?? "";
  return trimmed === "" || trimmed.toLowerCase() === "all" ? null : trimmed;
}

/** The `since` filter as reports echo it. */
export function sinceFilter(since: string | null | undefined): string | null {
  return since == null || since.trim() === "" ? null : since;
}

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
  // An id that a person chose names no program.
  const source = Number.isNaN(sessionTime(summary.session_id)) ? "unknown" : sessionPrefix(summary.session_id);
  const row = { run_id, started_at, ended_at, model, prompt, success, cost_usd, steps, tool_calls: tool_calls_total };
  return { ...row, source, tokens };
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

/** Epoch milliseconds of an ISO-8601 text, UTC unless it says otherwise; null when it is none. */
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
