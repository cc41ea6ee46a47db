/**
 * Ends what was left open when a process died or the log could not be written: calls without a result, unanswered
 * permissions, a turn in the middle, prompts that never ran.
 */
import type { AgentEvent } from "@chimera/acp-schema/events";
import type { History, TurnState } from "./history.js";
import type { Recorder } from "./recorder.js";
import { resultsForOpenCalls } from "./run-turn.js";

/** Turns in `busy` are left alone: they wait or run. Each of the others ends in one write. */
export function repair(history: History, recorder: Recorder, reason: string, busy: ReadonlySet<number>): void {
  for (const turn of history.turns) {
    // A prompt the log never took leaves a hole.
    if (!turn || turn.ended || busy.has(turn.number)) continue;
    recorder.writeAll(turn.started ? interrupted(history, turn, reason) : [neverRan], { turn: turn.number });
  }
}

// --- internal ---

const neverRan: AgentEvent = { type: "cancelled", metadata: { output: "" } };

function interrupted(history: History, turn: TurnState, message: string): AgentEvent[] {
  const denials = [...history.openPermissions].map(
    (permission_id): AgentEvent => ({
      type: "permission_resolved",
      metadata: { permission_id, decision: "deny", by: "eviction" },
    }),
  );
  const { steps } = turn;
  return [
    ...denials,
    ...resultsForOpenCalls(history, message),
    { type: "error", metadata: { name: "Interrupted", message, retryable: true } },
    { type: "turn_end", metadata: { stop_reason: "error" } },
    {
      type: "agent_result",
      metadata: { output: "", steps, tool_calls_total: 0, cost: 0, success: false, error: message },
    },
  ];
}
