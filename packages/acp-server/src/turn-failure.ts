/** Why a turn failed, as the error its prompt is answered with. */
import type { TurnState } from "@chimera/session";

export function turnFailure(turn: TurnState | undefined): Error {
  const error = new Error(turn?.failure?.message ?? turn?.result?.error ?? "the turn failed");
  error.name = turn?.failure?.name ?? "AgentError";
  return error;
}
