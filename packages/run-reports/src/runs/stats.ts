import { modelFilter, type RunQuery, type RunStore, selectRuns, sinceFilter } from "./select.js";
import { type ModelTotals, totalsByModel, totalsOf } from "./totals.js";

export interface Stats {
  readonly avg_cost_usd: number;
  readonly by_model: Readonly<Record<string, ModelTotals>>;
  readonly failed_runs: number;
  readonly model_filter: string | null;
  readonly p50_cost_usd: number;
  readonly p95_cost_usd: number;
  readonly since: string | null;
  readonly successful_runs: number;
  readonly total_cache_tokens: number;
  readonly total_cost_usd: number;
  readonly total_input_tokens: number;
  readonly total_output_tokens: number;
  readonly total_runs: number;
  readonly total_tokens: number;
}

/** Usage in figures, keys in alphabetical order. Throws ReportError `invalid_query`. */
export async function stats(store: RunStore, query: RunQuery): Promise<Stats> {
  const runs = await selectRuns(store, query);
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
