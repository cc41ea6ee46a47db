import type { Run } from "./run.js";
import { type RunQuery, type RunStore, selectRuns } from "./select.js";

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
