/** The reports over a selection of runs: a list, what they cost, and figures. */
import { modelFilter, type RunQuery, type RunStore, selectRuns, sinceFilter } from "./select.js";
import { totalsByModel, totalsOf } from "./totals.js";

export type RunList = Awaited<ReturnType<typeof listRuns>>;
export type RunRow = RunList["runs"][number];

/**
 * One row per run, newest first. Throws ReportError `invalid_query`.
 *
 * @example
 * const { runs, next } = await listRuns(store, { now: Date.now(), since: "7d", limit: 20 });
 */
export async function listRuns(store: RunStore, query: RunQuery) {
  const { runs, next } = await selectRuns(store, query);
  return { next, total_runs: runs.length, runs: runs.map(({ tokens: _, ...row }) => row) };
}

export type CostRollup = Awaited<ReturnType<typeof costRollup>>;
export type CostRow = CostRollup["by_run"][number];

/**
 * What the runs cost: in all, by model and run by run, newest first. Throws ReportError `invalid_query`.
 *
 * @example
 * const { total_cost, by_model } = await costRollup(store, { now: Date.now() });
 */
export async function costRollup(store: RunStore, query: RunQuery) {
  const { runs } = await selectRuns(store, query);
  const totals = totalsOf(runs);
  return {
    total_runs: totals.runs,
    total_cost: totals.cost_usd,
    total_tokens: totals.tokens,
    by_model: totalsByModel(runs),
    by_run: runs.map(({ ended_at: _, prompt: _prompt, tool_calls: _calls, tokens, ...row }) => ({ ...row, ...tokens })),
    totals,
    filters: { since: sinceFilter(query.since), model: modelFilter(query.model) },
  };
}

export type Stats = Awaited<ReturnType<typeof stats>>;

/**
 * Usage in figures, keys in alphabetical order. Throws ReportError `invalid_query`.
 *
 * @example
 * const { p95_cost_usd, failed_runs } = await stats(store, { now: Date.now() });
 */
export async function stats(store: RunStore, query: RunQuery) {
  const { runs } = await selectRuns(store, query);
  const totals = totalsOf(runs);
  return {
    avg_cost_usd: totals.avg_cost_usd,
    by_model: totalsByModel(runs),
    failed_runs: totals.failed_runs,
    model_filter: modelFilter(query.model),
    p50_cost_usd: totals.p50_cost_usd,
    p95_cost_usd: totals.p95_cost_usd,
    since: sinceFilter(query.since),
    successful_runs: totals.successful_runs,
    total_cache_tokens: totals.cache_tokens,
    total_cost_usd: totals.cost_usd,
    total_input_tokens: totals.input_tokens,
    total_output_tokens: totals.output_tokens,
    total_runs: totals.runs,
    total_tokens: totals.tokens,
  };
}
