/** The answer to one prompt, folded from the records of its turn. */
import type { SessionRecord } from "@chimera/acp-schema/events";

export interface Outcome {
  output: string;
  steps: number;
  cost: number;
  success: boolean;
  error: string | null;
  cancelled: boolean;
  /** The cost limit was reached and nobody allowed to go on. */
  overBudget: boolean;
}

export interface OutcomeFold {
  /** True when this was the turn's last record. */
  apply(record: SessionRecord): boolean;
  readonly outcome: Outcome;
}

export function createOutcomeFold(): OutcomeFold {
  const outcome: Outcome = {
    output: "",
    steps: 0,
    cost: 0,
    success: false,
    error: null,
    cancelled: false,
    overBudget: false,
  };
  const budgetCalls = new Set<string>();
  return {
    outcome,
    apply(record) {
      switch (record.type) {
        case "tool_call":
          if (record.metadata.tool === BUDGET_TOOL) budgetCalls.add(record.metadata.call_id);
          return false;
        case "tool_result":
          if (budgetCalls.has(record.metadata.call_id) && !record.metadata.success) outcome.overBudget = true;
          return false;
        case "agent_result": {
          const { output, steps, cost, success, error } = record.metadata;
          Object.assign(outcome, { output, steps, cost, success, error });
          return true;
        }
        case "cancelled":
          Object.assign(outcome, { output: record.metadata.output, cancelled: true, error: "cancelled" });
          return true;
        default:
          return false;
      }
    },
  };
}

// --- internal ---

/** The call an agent shows when it asks whether to spend more. */
const BUDGET_TOOL = "continue_over_budget";
