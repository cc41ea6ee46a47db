/** How far a turn and its tasks may go together, in steps and in dollars. Limits that may be lifted pause them and ask. */
import { abortable } from "./patience.js";
import type { Limits, Reached, RunningTurn } from "./running-turn.js";

/** Those of a task hold beside those of its turn. */
export function createLimits(run: RunningTurn): Limits {
  const { maxSteps } = run.turn.settings;
  const pauses = run.shared ? [unpricedPause(run)] : [stepPause(run), unpricedPause(run), costPause(run)];
  let taken = 0;
  const firstOf = async () => {
    for (const pause of pauses) {
      const reached = await pause(taken - 1);
      if (reached) return reached;
    }
    return null;
  };
  let asking: Promise<Reached | null> | null = null;
  return {
    async reached() {
      // Written so that a limit that is not a number ends the turn instead of never being reached.
      if (maxSteps !== null && !(taken < maxSteps))
        return { reason: "max_turn_requests", error: `the limit of ${maxSteps} steps is reached` };
      taken += 1;
      // Tasks that run side by side wait for one answer, and a no holds for all of them.
      asking ??= firstOf().then((reached) => {
        if (!reached) asking = null;
        return reached;
      });
      return (await asking) ?? run.shared?.limits.reached() ?? null;
    },
  };
}

// --- internal ---

/** Steps between two questions where no limit is set. */
const STEPS_BETWEEN = 100;

/** @param steps taken before this one. */
type Pause = (steps: number) => Promise<Reached | null>;

function stepPause(run: RunningTurn): Pause {
  if (run.turn.settings.maxSteps !== null) return async () => null;
  let next = STEPS_BETWEEN;
  return async (steps) => {
    if (steps < next) return null;
    next = steps + STEPS_BETWEEN;
    const { autoApproveWrites, autoApproveExecute } = run.flags();
    // Who wants no questions gets none, and where nobody is there to be asked the work goes on: only a person's no ends it.
    if (autoApproveWrites && autoApproveExecute) return null;
    const answer = await ask(run, {
      tool: "continue_over_steps",
      args: { steps },
      title: `Go on? ${steps} steps are taken`,
      unanswered: true,
    });
    if (answer === "always") next = Number.POSITIVE_INFINITY;
    return answer ? null : { reason: "max_turn_requests", error: `stopped after ${steps} steps, as it was answered` };
  };
}

function unpricedPause(run: RunningTurn): Pause {
  const { model, spending } = run;
  const { maxCostUsd: limit } = run.turn.settings;
  let isAccepted = limit === null || model.price !== null;
  return async () => {
    if (isAccepted || limit === null) return null;
    const why = `what ${model.id} costs is not known, so the cost limit of ${dollars(limit)} cannot be kept`;
    const args = { spent_usd: spending.total, limit_usd: limit, priced: false };
    const title = `Go on? ${why.charAt(0).toUpperCase()}${why.slice(1)}`;
    isAccepted = (await ask(run, { tool: "continue_over_budget", args, title, unanswered: false })) !== null;
    return isAccepted ? null : { reason: "max_tokens", error: why };
  };
}

function costPause(run: RunningTurn): Pause {
  const { maxCostUsd } = run.turn.settings;
  if (maxCostUsd === null) return async () => null;
  const { spending } = run;
  let limit = maxCostUsd;
  return async () => {
    if (spending.total < limit) return null;
    const args = { spent_usd: spending.total, limit_usd: limit };
    const title = `Go on? ${dollars(spending.total)} of ${dollars(limit)} is spent`;
    if (!(await ask(run, { tool: "continue_over_budget", args, title, unanswered: false })))
      return { reason: "max_tokens", error: "the cost limit is reached" };
    // As much again, from where we are: the question comes back when that is spent too.
    limit = spending.total + Math.max(maxCostUsd, 0.01);
    return null;
  };
}

function dollars(amount: number): string {
  return `$${amount.toFixed(4)}`;
}

interface Question {
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly title: string;
  /** Whether to go on where nobody answers. */
  readonly unanswered: boolean;
}

/** Null for no. `always` is not among the answers that are offered; a client that sends it all the same means yes, for this turn. */
async function ask(run: RunningTurn, { tool, args, title, unanswered }: Question): Promise<"once" | "always" | null> {
  const call_id = run.ids.take(`${tool}-${run.turn.number}`);
  const startedAt = run.clock.now();
  let success = false;
  run.emit({ type: "tool_call", metadata: { call_id, tool, args, kind: "other", title, locations: [] } });
  try {
    await run.taken();
    const request = { call_id, tool, args, risk: "medium" as const, options: ["allow", "deny"] as const };
    const { decision, by } = await abortable(run.ask(request), run.signal, 0);
    success = decision === "allow" || decision === "always" || (unanswered && by !== "client");
    if (!success) return null;
    return decision === "always" ? "always" : "once";
  } finally {
    const output = success ? "Going on." : "Not allowed to go on.";
    const duration_ms = Math.max(0, Math.round(run.clock.now() - startedAt));
    run.emit({ type: "tool_result", metadata: { call_id, success, output, duration_ms } });
  }
}
