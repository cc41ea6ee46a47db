/** `summary.json`: what lists and rollups read without opening a log. Rebuilt from the session at every turn end. */
import type { History } from "./history.js";
import type { Bounds } from "./settings.js";

export const SUMMARY_VERSION = 1;

export interface Summary {
  readonly v: number;
  readonly session_id: string;
  readonly run_id: string;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly model: string;
  readonly prompt: string;
  readonly cwd: string;
  readonly directories: readonly string[];
  /** The program that made it: otter, ferret. */
  readonly agent: string;
  readonly steps: number;
  readonly tool_calls_total: number;
  readonly turns: number;
  readonly success: boolean;
  readonly cost_usd: number;
  readonly total_tokens: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_tokens: number;
  readonly error: string | null;
  readonly title: string | null;
  readonly parent_id?: string;
  readonly forked_at?: string;
  /** What its maker held it to. */
  readonly bounds?: Partial<Bounds>;
  /** Torn down by its owner: kept as a record of what happened, no longer a session to talk to. */
  readonly closed?: boolean;
}

/** What a summary says that the log does not. */
export interface SummaryFacts {
  readonly id: string;
  readonly program: string;
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly createdAt: number;
  readonly model: string;
  readonly bounds: Partial<Bounds>;
  readonly parentId?: string;
}

export function summarize(facts: SummaryFacts, history: History, endedAt: number | null): Summary {
  const { usage, lastResult, title, firstPrompt, steps, toolCalls } = history.facts;
  const input = usage?.input ?? 0;
  const output = usage?.output ?? 0;
  return {
    v: SUMMARY_VERSION,
    session_id: facts.id,
    run_id: facts.id,
    started_at: isoSeconds(facts.createdAt),
    ended_at: endedAt === null ? null : isoSeconds(endedAt),
    model: facts.model,
    prompt: firstPrompt ?? "",
    cwd: facts.cwd,
    directories: facts.directories,
    agent: facts.program,
    steps,
    tool_calls_total: toolCalls,
    turns: history.turns.length,
    success: lastResult?.success ?? false,
    cost_usd: usage?.total_usd ?? 0,
    total_tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    cache_tokens: usage?.cache ?? 0,
    error: lastResult?.error ?? null,
    title,
    ...(facts.parentId !== undefined && { parent_id: facts.parentId, forked_at: isoSeconds(facts.createdAt) }),
    ...(Object.keys(facts.bounds).length > 0 && { bounds: facts.bounds }),
  };
}

/** ISO-8601 UTC to the second, as summaries have always been written. */
export function isoSeconds(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
