import type { Run } from "./run.js";
import { modelFilter, type RunQuery, type RunStore, selectRuns, sinceFilter } from "./select.js";
import { type ModelTotals, type Totals, totalsByModel, totalsOf } from "./totals.js";

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
