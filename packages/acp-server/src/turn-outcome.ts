/** How a turn went, as its prompt is answered. */
import type { TurnView } from "@chimera/acp-schema/conversation";

/** A turn that is answered before it ended was left: its session, or its connection, was closed. */
export function stopReasonOf(turn: TurnView | undefined): string {
  return turn?.ended && !turn.result?.cancelled ? (turn.stopReason ?? "end_turn") : "cancelled";
}

export function turnFailure(turn: TurnView | undefined): Error {
  const error = new Error(turn?.failure?.message ?? turn?.result?.error ?? "the turn failed");
  error.name = turn?.failure?.name ?? "AgentError";
  return error;
}
