/** The limits of a turn. Those that may be lifted pause it and ask whether to go on. */
import { abortable } from "./abortable.js";
import type { Run } from "./run.js";

/** Shown as tool calls, since that is what a permission is asked for; the model never sees them. */
export const questions: ReadonlySet<string> = new Set(["continue_over_budget", "continue_over_steps"]);

export interface Reached {
  readonly reason: "max_tokens" | "max_turn_requests";
  readonly error: string;
}

export interface Limits {
  /** The limit that forbids another request; null when there is none. */
  reached(): Promise<Reached | null>;
}

export function createLimits(run: Run): Limits {
  const [steps, cost] = [stepLimit(run), costLimit(run)];
  return { reached: async () => (await steps()) ?? (await cost()) };
}

// --- internal ---

/** Steps between two questions where no limit is set. */
const STEPS_BETWEEN = 100;

type Limit = () => Promise<Reached | null>;

function stepLimit(run: Run): Limit {
  const { maxSteps } = run.turn.settings;
  const { progress } = run;
  if (maxSteps !== null) {
    const reached: Reached = { reason: "max_turn_requests", error: `the limit of ${maxSteps} steps is reached` };
    // Written so that a limit that is not a number ends the turn instead of never being reached.
    return async () => (progress.steps < maxSteps ? null : reached);
  }
  let next = STEPS_BETWEEN;
  return async () => {
    const { steps } = progress;
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

function costLimit(run: Run): Limit {
  const { maxCostUsd } = run.turn.settings;
  if (maxCostUsd === null) return async () => null;
  const { spending, model } = run;
  let limit = maxCostUsd;
  let unpriced = model.price === null;
  return async () => {
    const question = { tool: "continue_over_budget", unanswered: false };
    const args = { spent_usd: spending.total, limit_usd: limit };
    if (unpriced) {
      const why = `what ${model.id} costs is not known, so the cost limit of ${dollars(limit)} cannot be kept`;
      unpriced = !(await ask(run, { ...question, args: { ...args, priced: false }, title: `Go on? ${capital(why)}` }));
      return unpriced ? { reason: "max_tokens", error: why } : null;
    }
    if (spending.total < limit) return null;
    const title = `Go on? ${dollars(spending.total)} of ${dollars(limit)} is spent`;
    if (!(await ask(run, { ...question, args, title })))
      return { reason: "max_tokens", error: "the cost limit is reached" };
    // As much again, from where we are: the question comes back when that is spent too.
    limit = spending.total + Math.max(maxCostUsd, 0.01);
    return null;
  };
}

function dollars(amount: number): string {
  return `$${amount.toFixed(4)}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

interface Question {
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly title: string;
  /** Whether to go on where nobody answers. */
  readonly unanswered: boolean;
}

/** Null for no. `always` is not among the answers that are offered; a client that sends it all the same means yes, for this turn. */
async function ask(run: Run, { tool, args, title, unanswered }: Question): Promise<"once" | "always" | null> {
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
