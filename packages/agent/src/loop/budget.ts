/** The cost limit: reached, it pauses the turn and asks whether to go on for as much again. */
import { abortable } from "./abortable.js";
import type { Run } from "./run.js";

/** Shown as a tool call, since that is what a permission is asked for; the model never sees it. */
export const budgetTool = "continue_over_budget";

export interface Budget {
  /** Whether another request may be made. */
  allows(): Promise<boolean>;
}

export function createBudget(run: Run): Budget {
  const { maxCostUsd } = run.turn.settings;
  if (maxCostUsd === null) return { allows: async () => true };
  let limit = maxCostUsd;
  let asked = 0;
  return {
    async allows() {
      if (run.spending.total < limit) return true;
      const allowed = await askToContinue(run, `budget-${run.turn.number}-${asked++}`, limit);
      // As much again, from where we are: the question comes back when that is spent too.
      if (allowed) limit = run.spending.total + Math.max(maxCostUsd, 0.01);
      return allowed;
    },
  };
}

// --- internal ---

async function askToContinue(run: Run, call_id: string, limit: number): Promise<boolean> {
  const args = { spent_usd: run.spending.total, limit_usd: limit };
  const title = `Go on? $${args.spent_usd.toFixed(4)} of $${limit.toFixed(4)} is spent`;
  const startedAt = run.clock.now();
  let allowed = false;
  run.emit({
    type: "tool_call",
    metadata: { call_id, tool: budgetTool, args, kind: "other", title, locations: [] },
  });
  try {
    await run.taken();
    const request = { call_id, tool: budgetTool, args, risk: "medium" as const, options: ["allow", "deny"] as const };
    allowed = (await abortable(run.ask(request), run.signal, 0)).decision === "allow";
    return allowed;
  } finally {
    const output = allowed ? "Going on." : "Stopped at the cost limit.";
    const duration_ms = Math.max(0, Math.round(run.clock.now() - startedAt));
    run.emit({ type: "tool_result", metadata: { call_id, success: allowed, output, duration_ms } });
  }
}
