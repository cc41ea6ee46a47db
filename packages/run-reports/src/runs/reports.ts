/** Reports on a selection of runs: a list, costs, and statistics. */
import { modelFilter, type ReportedRun, type RunQuery, type RunStore, selectRuns, sinceFilter } from "./select.js";

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
  return { next, total_runs: runs.length, runs: runs.map(rowOf) };
}

export type CostRollup = Awaited<ReturnType<typeof costRollup>>;
export type CostRow = CostRollup["by_run"][number];

/**
 * The cost of runs: in total, per model, and per run with the newest first. Throws ReportError `invalid_query`.
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
    by_run: runs.map(costOf),
    totals,
    filters: { since: sinceFilter(query.since), model: modelFilter(query.model) },
  };
}

export type Stats = Awaited<ReturnType<typeof stats>>;

/**
 * Statistics of usage, with keys in alphabetical order. Throws ReportError `invalid_query`.
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

export interface ModelTotals {
  runs: number;
  cost_usd: number;
  tokens: number;
}

export type Totals = ReturnType<typeof totalsOf>;

// --- internal ---

// Fields are named one by one: to leave some out with `...rest` takes longer than to read the run from the store.

function rowOf(run: ReportedRun) {
  const { run_id, started_at, ended_at, model, prompt, success, cost_usd, steps, tool_calls, source } = run;
  return { run_id, started_at, ended_at, model, prompt, success, cost_usd, steps, tool_calls, source };
}

function costOf({ run_id, started_at, model, success, cost_usd, steps, source, tokens }: ReportedRun) {
  const { total_tokens, input_tokens, output_tokens, cache_tokens } = tokens;
  return {
    run_id,
    started_at,
    model,
    success,
    cost_usd,
    steps,
    source,
    total_tokens,
    input_tokens,
    output_tokens,
    cache_tokens,
  };
}

function totalsOf(runs: readonly ReportedRun[]) {
  const sum = (value: (run: ReportedRun) => number) => runs.reduce((total, run) => total + value(run), 0);
  const costs = runs.map((run) => run.cost_usd).sort((a, b) => a - b);
  const cost = sum((run) => run.cost_usd);
  const successful = runs.filter((run) => run.success).length;
  return {
    runs: runs.length,
    successful_runs: successful,
    failed_runs: runs.length - successful,
    cost_usd: dollars(cost),
    tokens: sum((run) => run.tokens.total_tokens),
    input_tokens: sum((run) => run.tokens.input_tokens),
    output_tokens: sum((run) => run.tokens.output_tokens),
    cache_tokens: sum((run) => run.tokens.cache_tokens),
    avg_cost_usd: runs.length === 0 ? 0 : dollars(cost / runs.length),
    p50_cost_usd: dollars(median(costs)),
    p95_cost_usd: nearestRank(costs, 0.95),
  };
}

/** Totals per model name, in the order of their newest run; a blank name is `(unknown)`. */
function totalsByModel(runs: readonly ReportedRun[]): Record<string, ModelTotals> {
  const models = new Map<string, ModelTotals>();
  for (const run of runs) {
    const name = run.model || "(unknown)";
    const totals = models.get(name) ?? { runs: 0, cost_usd: 0, tokens: 0 };
    totals.runs += 1;
    totals.cost_usd = dollars(totals.cost_usd + run.cost_usd);
    totals.tokens += run.tokens.total_tokens;
    models.set(name, totals);
  }
  return Object.fromEntries(models);
}

/** Rounds to a billionth of a dollar, to remove the noise of float sums. */
function dollars(amount: number): number {
  return Math.round(amount * 1e9) / 1e9;
}

/** The middle value, or the mean of the two middle values; 0 for no values. */
function median(ascending: readonly number[]): number {
  if (ascending.length === 0) return 0;
  const middle = Math.floor(ascending.length / 2);
  const upper = ascending[middle]!;
  return ascending.length % 2 === 1 ? upper : (ascending[middle - 1]! + upper) / 2;
}

/** The value at the nearest rank: `share` (0 to 1) of the count, with halves rounded to even, at least the first; 0 for no values. */
function nearestRank(ascending: readonly number[], share: number): number {
  if (ascending.length === 0) return 0;
  const rank = Math.min(Math.max(1, roundHalfEven(share * ascending.length)), ascending.length);
  return ascending[rank - 1]!;
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
