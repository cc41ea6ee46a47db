/** Lists and costs of past runs, from the logs of all programs. */
import * as v from "valibot";
import { count, text } from "../define/scalar.js";
import { plain, record } from "../define/shape.js";

const usd = v.number();
const moment = v.nullable(text);

/** The query of `GET /runs` and `GET /runs/cost`: `since` is like `7d`, `24h`, `30m` or ISO 8601; `model` matches a part of the name. */
export const RunsQuery = plain(() => ({
  since: v.optional(text),
  model: v.optional(text),
  limit: v.optional(text),
  /** The `next` of the previous page. */
  after: v.optional(text),
}));

export const RunRow = plain(() => ({
  run_id: text,
  started_at: moment,
  ended_at: moment,
  model: v.nullable(text),
  prompt: v.nullable(text),
  success: v.nullable(v.boolean()),
  cost_usd: usd,
  steps: count,
  tool_calls: count,
  /** The program, which the prefix of the id names. */
  source: text,
}));
export type RunRow = v.InferOutput<typeof RunRow>;

/** `GET /runs`, newest first. `next` is the cursor of the next page, and null on the last page. */
export const RunsReply = plain(() => ({ total_runs: count, runs: v.array(RunRow), next: v.nullable(text) }));
export type RunsReply = v.InferOutput<typeof RunsReply>;

export const RunCostRow = plain(() => ({
  run_id: text,
  started_at: moment,
  model: v.nullable(text),
  cost_usd: usd,
  total_tokens: count,
  input_tokens: count,
  output_tokens: count,
  cache_tokens: count,
  success: v.nullable(v.boolean()),
  steps: count,
  source: text,
}));
export type RunCostRow = v.InferOutput<typeof RunCostRow>;

export const CostTotals = plain(() => ({
  runs: count,
  successful_runs: count,
  failed_runs: count,
  cost_usd: usd,
  tokens: count,
  input_tokens: count,
  output_tokens: count,
  cache_tokens: count,
  avg_cost_usd: usd,
  p50_cost_usd: usd,
  p95_cost_usd: usd,
}));
export type CostTotals = v.InferOutput<typeof CostTotals>;

/** `GET /runs/cost`. */
export const RunsCostReply = plain(() => ({
  total_runs: count,
  total_cost: usd,
  total_tokens: count,
  by_model: record(plain(() => ({ runs: count, cost_usd: usd, tokens: count }))),
  by_run: v.array(RunCostRow),
  totals: CostTotals,
  filters: plain(() => ({ since: v.nullable(text), model: v.nullable(text) })),
}));
export type RunsCostReply = v.InferOutput<typeof RunsCostReply>;
