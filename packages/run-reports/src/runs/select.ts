import { readSummary, type Summary } from "@chimera/acp-schema/summary";
import { formatPageEnd, type ListedSession, type ListFilter, sessionPrefix, sessionTime } from "@chimera/event-store";
import { parseInstant, parseSince } from "./query.js";

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
