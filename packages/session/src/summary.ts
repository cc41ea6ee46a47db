/** A session's summary as a fold of its log, and how a store makes it again. */
import type { SessionEvent } from "@chimera/acp-schema/events";
import {
  type Birth,
  beginningOf,
  birthOf,
  readSummary,
  SUMMARY_VERSION,
  type Summary,
  type SummaryState,
  unheld,
} from "@chimera/acp-schema/summary";
import type { SummaryForm } from "@chimera/event-store";
import { createHistory, type History } from "./history.js";
import type { Bounds } from "./settings.js";

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

/** How a store of sessions reads, bounds and makes summaries again. */
export const sessionSummaries: SummaryForm<SessionEvent, Summary> = {
  read: readSummary,
  birth: birthOf,
  unheld,
  async derive(id, known, entries) {
    const history = createHistory();
    let endedAt: number | null = null;
    for await (const entry of entries) {
      if (!SAYS_NOTHING.has(entry.type)) history.apply(entry.event);
      if (ENDS.has(entry.type)) endedAt = Date.parse(entry.event.ts);
    }
    const birth = birthOf(readSummary(id, known));
    return summaryOf(id, { ...birth, model: history.facts.model ?? birth.model }, history, endedAt);
  },
};

export function summarize(facts: SummaryFacts, history: History, endedAt: number | null): Summary {
  const { id, program, cwd, directories, createdAt, model, bounds, parentId } = facts;
  const created = isoSeconds(createdAt);
  const birth: Birth = {
    started_at: created,
    model,
    cwd,
    directories,
    agent: program,
    ...(parentId !== undefined && { parent_id: parentId, forked_at: created }),
    ...(Object.keys(bounds).length > 0 && { bounds }),
  };
  return summaryOf(id, birth, history, endedAt);
}

/** True for a record that changes what a list shows: others do not cost a write. */
export function changesSummary({ type }: SessionEvent): boolean {
  return LISTED.has(type) || ENDS.has(type);
}

/** True for the last record of a turn. */
export function endsTurn({ type }: SessionEvent): boolean {
  return ENDS.has(type);
}

// --- internal ---

const ENDS: ReadonlySet<string> = new Set(["agent_result", "cancelled"]);
const LISTED: ReadonlySet<string> = new Set([
  "user_message",
  "permission_request",
  "permission_resolved",
  "title_changed",
  "model_changed",
]);
/** The bulk of a log: what is said and what tools say. */
const SAYS_NOTHING: ReadonlySet<string> = new Set([
  "text_delta",
  "thought_delta",
  "part_end",
  "tool_progress",
  "tool_result",
]);

const ERROR_LENGTH = 1000;

function summaryOf(id: string, birth: Birth, history: History, endedAt: number | null): Summary {
  const { usage, lastResult, title, firstPrompt, steps, toolCalls } = history.facts;
  const input = usage?.input ?? 0;
  const output = usage?.output ?? 0;
  const cache = usage?.cache ?? 0;
  const { started_at, model, cwd, directories, agent, ...rest } = birth;
  return {
    v: SUMMARY_VERSION,
    session_id: id,
    run_id: id,
    started_at,
    ended_at: endedAt === null ? null : isoSeconds(endedAt),
    model,
    prompt: beginningOf(firstPrompt ?? ""),
    cwd,
    directories,
    agent,
    steps,
    tool_calls_total: toolCalls,
    turns: history.turns.length,
    success: lastResult?.success ?? false,
    cost_usd: usage?.total_usd ?? 0,
    total_tokens: input + output + cache,
    input_tokens: input,
    output_tokens: output,
    cache_tokens: cache,
    error: lastResult?.error == null ? null : beginningOf(lastResult.error, ERROR_LENGTH),
    title,
    state: stateOf(history),
    ...rest,
  };
}

function stateOf({ turns, openPermissions }: History): SummaryState {
  // A prompt that the log never took leaves a hole.
  if (!turns.some((turn) => turn && !turn.ended)) return "idle";
  return openPermissions.size > 0 ? "waiting" : "running";
}

/** ISO-8601 UTC to the second, as summaries have always been written. */
function isoSeconds(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
