/** The reports over a selection of runs: a list, what they cost, and figures. */
import { modelFilter, type Run, type RunQuery, type RunStore, selectRuns, sinceFilter } from "./select.js";
import { type ModelTotals, type Totals, totalsByModel, totalsOf } from "./totals.js";

export type RunRow = Pick<
  Run,
  "run_id" | "started_at" | "ended_at" | "model" | "prompt" | "success" | "cost_usd" | "steps" | "tool_calls" | "source"
>;

export interface RunList {
  readonly total_runs: number;
  readonly runs: RunRow[];
}

/** One row per run, newest first. Throws ReportError `invalid_query`. */
export async function listRuns(store: RunStore, query: RunQuery): Promise<RunList> {
  const runs = await selectRuns(store, query);
  return {
    total_runs: runs.length,
    runs: runs.map(({ run_id, started_at, ended_at, model, prompt, success, cost_usd, steps, tool_calls, source }) => ({
      run_id,
      started_at,
      ended_at,
      model,
      prompt,
      success,
      cost_usd,
      steps,
      tool_calls,
      source,
    })),
  };
}

export type CostRow = Omit<Run, "ended_at" | "prompt" | "tool_calls">;

export interface CostRollup {
  readonly total_runs: number;
  readonly total_cost: number;
  readonly total_tokens: number;
  readonly by_model: Readonly<Record<string, ModelTotals>>;
  readonly by_run: CostRow[];
  readonly totals: Totals;
  readonly filters: { readonly since: string | null; readonly model: string | null };
}

/** What the runs cost: in all, by model and run by run, newest first. Throws ReportError `invalid_query`. */
export async function costRollup(store: RunStore, query: RunQuery): Promise<CostRollup> {
  const runs = await selectRuns(store, query);
  const totals = totalsOf(runs);
  return {
    total_runs: totals.runs,
    total_cost: totals.cost_usd,
    total_tokens: totals.tokens,
    by_model: totalsByModel(runs),
    by_run: runs.map((run) => ({
      run_id: run.run_id,
      started_at: run.started_at,
      model: run.model,
      cost_usd: run.cost_usd,
      total_tokens: run.total_tokens,
      input_tokens: run.input_tokens,
      output_tokens: run.output_tokens,
      cache_tokens: run.cache_tokens,
      success: run.success,
      steps: run.steps,
      source: run.source,
    })),
    totals,
    filters: { since: sinceFilter(query.since), model: modelFilter(query.model) },
  };
}

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
