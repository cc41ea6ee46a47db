import type { Summary } from "@chimera/acp-schema/summary";
import { sessionPrefix } from "@chimera/event-store";

/** A session as lists and rollups see it. */
export interface Run
  extends Pick<
    Summary,
    | "run_id"
    | "started_at"
    | "ended_at"
    | "model"
    | "prompt"
    | "success"
    | "cost_usd"
    | "steps"
    | "total_tokens"
    | "input_tokens"
    | "output_tokens"
    | "cache_tokens"
  > {
  readonly tool_calls: number;
  readonly source: RunSource;
}

/** The programs whose sessions are reported together. */
export const RUN_PREFIXES = ["mink", "otter", "ferret"] as const;

export type RunSource = (typeof RUN_PREFIXES)[number] | "unknown";

export function runOf(summary: Summary): Run {
  const writer = sessionPrefix(summary.session_id);
  return {
    run_id: summary.run_id,
    started_at: summary.started_at,
    ended_at: summary.ended_at,
    model: summary.model,
    prompt: summary.prompt,
    success: summary.success,
    cost_usd: summary.cost_usd,
    steps: summary.steps,
    tool_calls: summary.tool_calls_total,
    total_tokens: summary.total_tokens,
    input_tokens: summary.input_tokens,
    output_tokens: summary.output_tokens,
    cache_tokens: summary.cache_tokens,
    source: RUN_PREFIXES.find((prefix) => prefix === writer) ?? "unknown",
  };
}
