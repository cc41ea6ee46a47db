/** Every way a turn ends: by its agent's last word, by a cancel, by a failure, or because the process did. */
import type { Conversation, TurnView } from "@chimera/acp-schema/conversation";
import type { AgentEvent, Metadata } from "@chimera/acp-schema/events";
import { endOf } from "@chimera/acp-schema/text";
import { limits } from "./limits.js";

export type Ending = Extract<AgentEvent, { type: "agent_result" | "cancelled" }>;

/** The session's totals when a turn began. */
export type Totals = Pick<Conversation["facts"], "usage" | "toolCalls">;

/** A prompt that never ran. */
export const NEVER_RAN: AgentEvent = { type: "cancelled", metadata: { output: "", steps: 0, cost: 0 } };

/** The last record of a turn that ran: the agent's own, or one made of what it did. */
export function lastRecord(
  { conversation, number }: { readonly conversation: Conversation; readonly number: number },
  before: Totals,
  how: {
    readonly given: Ending | null;
    readonly output: string;
    readonly isCancelled: boolean;
    readonly failure: Error | null;
  },
): Ending {
  const { given, failure } = how;
  if (given?.type === "agent_result") return { ...given, metadata: bounded(given.metadata) };
  const { usage, toolCalls } = conversation.facts;
  const cost = (usage?.total_usd ?? 0) - (before.usage?.total_usd ?? 0);
  const steps = conversation.turns[number]?.steps ?? 0;
  if (given || how.isCancelled)
    return { type: "cancelled", metadata: bounded({ output: given?.metadata.output ?? how.output, steps, cost }) };
  return {
    type: "agent_result",
    metadata: bounded({
      output: how.output,
      // An agent that reports no steps took one.
      steps: Math.max(steps, 1),
      tool_calls_total: toolCalls - before.toolCalls,
      cost,
      success: failure === null,
      error: failure?.message ?? null,
    }),
  };
}

/** The records that end a turn which was cut short, so that the conversation stays well-formed. */
export function interruptedTurn(conversation: Conversation, turn: TurnView, message: string): AgentEvent[] {
  if (!turn.started) return [NEVER_RAN];
  const denials = [...conversation.openPermissions.keys()].map(
    (permission_id): AgentEvent => ({
      type: "permission_resolved",
      metadata: { permission_id, decision: "deny", by: "eviction" },
    }),
  );
  return [
    ...denials,
    ...resultsForOpenCalls(conversation, message),
    { type: "error", metadata: { name: "Interrupted", message, retryable: true } },
    { type: "turn_end", metadata: { stop_reason: "error" } },
    {
      type: "agent_result",
      metadata: { output: "", steps: turn.steps, tool_calls_total: 0, cost: 0, success: false, error: message },
    },
  ];
}

/** A result for every call that has none. */
export function resultsForOpenCalls(conversation: Conversation, error: string): AgentEvent[] {
  return [...conversation.openCalls.keys()].map((call_id) => ({
    type: "tool_result",
    metadata: { call_id, success: false, output: "", error, duration_ms: 0 },
  }));
}

/** Usage records carry the session's totals; an agent knows only its own turn's tokens. */
export function addUsage(usage: Metadata<"usage">, base: Metadata<"usage"> | null): Metadata<"usage"> {
  if (!base) return usage;
  return {
    ...usage,
    input: usage.input + base.input,
    output: usage.output + base.output,
    cache: usage.cache + base.cache,
    reasoning: usage.reasoning + base.reasoning,
  };
}

// --- internal ---

/** The whole text is in the deltas: a last record of megabytes would be too much for the log, or reach each reader in one piece. */
function bounded<M extends { readonly output: string }>(metadata: M): M {
  if (metadata.output.length <= limits.outputChars) return metadata;
  return { ...metadata, output: endOf(metadata.output, limits.outputChars) };
}
