/** Lists and costs of past runs, from the logs of all programs. */
import * as v from "valibot";
import { count, text } from "../define/scalar.js";
import { plain, record } from "../define/shape.js";

const usd = v.number();
const moment = v.nullable(text);

/** The query of `GET /runs` and `GET /runs/cost`. */
export const RunsQuery = plain(() => ({
  /** Only runs from this time on: a span such as `7d`, `24h` or `30m`, or a time in ISO 8601; by default of any time. */
  since: v.optional(text),
  /** Only runs whose model has this text in its name; by default of any model. */
  model: v.optional(text),
  /** The most runs, counted from the newest; all of them by default, and for 0. */
  limit: v.optional(text),
  /** The `next` of the previous page; by default the list begins with the newest run. */
  after: v.optional(text),
}));

const run = () => ({
  /** The id of the run, which is that of its session. */
  run_id: text,
  /** The time of the start; null if it is not known. */
  started_at: moment,
  /** The name of the model; null if it is not known. */
  model: v.nullable(text),
  /** Whether the last turn ended successfully; null if none has ended. */
  success: v.nullable(v.boolean()),
  /** The cost in dollars. */
  cost_usd: usd,
  /** How many requests went to the model. */
  steps: count,
  /** The program, which the prefix of the id names. */
  source: text,
});

/** A past run. */
export const RunRow = plain(() => ({
  ...run(),
  /** The time when the last turn ended; null if none has. */
  ended_at: moment,
  /** The beginning of the first prompt; null without one. */
  prompt: v.nullable(text),
  /** How many tools were called. */
  tool_calls: count,
}));
export type RunRow = v.InferOutput<typeof RunRow>;

/**
 * `GET /runs`.
 *
 * @property total_runs How many runs this page has.
 * @property runs The runs, newest first.
 * @property next The `after` of the next page; null on the last page.
 */
export const RunsReply = plain(() => ({ total_runs: count, runs: v.array(RunRow), next: v.nullable(text) }));
export type RunsReply = v.InferOutput<typeof RunsReply>;

/** What a run cost. */
export const RunCostRow = plain(() => ({
  ...run(),
  /** All tokens, in and out. */
  total_tokens: count,
  /** The tokens that went to the model. */
  input_tokens: count,
  /** The tokens that the model answered with. */
  output_tokens: count,
  /** The tokens that the provider had in its cache. */
  cache_tokens: count,
}));
export type RunCostRow = v.InferOutput<typeof RunCostRow>;

/** The sums over all selected runs. */
export const CostTotals = plain(() => ({
  /** How many runs there are. */
  runs: count,
  /** How many of them ended successfully. */
  successful_runs: count,
  /** How many of them did not end successfully. */
  failed_runs: count,
  /** Their cost in dollars. */
  cost_usd: usd,
  /** All their tokens, in and out. */
  tokens: count,
  /** The tokens that went to the models. */
  input_tokens: count,
  /** The tokens that the models answered with. */
  output_tokens: count,
  /** The tokens that the providers had in their caches. */
  cache_tokens: count,
  /** The mean cost of a run in dollars; 0 without runs. */
  avg_cost_usd: usd,
  /** The median cost of a run in dollars. */
  p50_cost_usd: usd,
  /** The cost in dollars that 95 % of the runs stay within. */
  p95_cost_usd: usd,
}));
export type CostTotals = v.InferOutput<typeof CostTotals>;

/** `GET /runs/cost` adds up what the same query lists: all runs, or with `limit` and `after` those of one page only. */
export const RunsCostReply = plain(() => ({
  /** How many runs were selected. */
  total_runs: count,
  /** Their cost in dollars. */
  total_cost: usd,
  /** All their tokens, in and out. */
  total_tokens: count,
  /**
   * The sums of each model, by its name.
   *
   * @property runs How many runs used the model.
   * @property cost_usd Their cost in dollars.
   * @property tokens All their tokens, in and out.
   */
  by_model: record(plain(() => ({ runs: count, cost_usd: usd, tokens: count }))),
  /** The runs, newest first. */
  by_run: v.array(RunCostRow),
  /** The sums over all runs. */
  totals: CostTotals,
  /**
   * What selected the runs.
   *
   * @property since The `since` of the query; null without one.
   * @property model The `model` of the query; null without one.
   */
  filters: plain(() => ({ since: v.nullable(text), model: v.nullable(text) })),
}));
export type RunsCostReply = v.InferOutput<typeof RunsCostReply>;
