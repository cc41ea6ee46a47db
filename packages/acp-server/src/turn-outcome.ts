/** How a turn went, as its prompt is answered. */
import type { TurnState } from "@chimera/session";

/** A turn that is answered before it ended was left behind: its session, or its connection, was closed. */
export function stopReasonOf(turn: TurnState | undefined): string {
  return turn?.ended && !turn.result?.cancelled ? (turn.stopReason ?? "end_turn") : "cancelled";
}

export function turnFailure(turn: TurnState | undefined): Error {
  const error = new Error(turn?.failure?.message ?? turn?.result?.error ?? "the turn failed");
  error.name = turn?.failure?.name ?? "AgentError";
  return error;
}
