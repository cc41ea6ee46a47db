/** Runs a turn: step after step until one of its typed endings. At a limit that a person may lift, the turn pauses and asks. */
import type { StopReason } from "@chimera/acp-schema/events";
import { AgentError, asAgentError } from "../errors.js";
import { sealOfCall } from "../providers/exchange.js";
import type { RawCall } from "../providers/model.js";
import { callsInText, prepareCall } from "./call.js";
import { announcement, runCalls } from "./calls.js";
import { compactHistory } from "./compaction.js";
import { type Draft, recordPart, sealOf } from "./draft.js";
import { abortable } from "./patience.js";
import { createPursuit, nextReply, type Pursuit } from "./reply.js";
import type { Limits, Progress, Reached, RunningTurn } from "./running-turn.js";

interface Ending {
  readonly reason: StopReason;
  /** Why the turn did not reach its natural end. */
  readonly error: string | null;
}

/** `open` makes the running turn. If it throws, the turn ends as after any other failure. */
export async function runTurn(
  emit: RunningTurn["emit"],
  signal: AbortSignal,
  open: (progress: Progress) => Promise<RunningTurn>,
): Promise<void> {
  const progress: Progress = { steps: 0, calls: 0, pauses: 0, output: "" };
  let run: RunningTurn | undefined;
  let ending: Ending;
  try {
    signal.throwIfAborted();
    run = await abortable(open(progress), signal, 0);
    ending = run.turn.compact ? await sumUp(run, run.turn.compact.focus) : await runSteps(run);
    if (signal.aborted) ending = cancelled;
  } catch (thrown) {
    ending = signal.aborted ? cancelled : failure(thrown, emit);
  }
  const { steps, calls: tool_calls_total, output } = progress;
  emit({ type: "turn_end", metadata: { stop_reason: ending.reason } });
  if (ending.reason === "cancelled") return emit({ type: "cancelled", metadata: { output } });
  const { error } = ending;
  const cost = run?.spending.cost ?? 0;
  emit({ type: "agent_result", metadata: { output, steps, tool_calls_total, cost, success: error === null, error } });
}

// --- internal ---

/** Most replies in a row that a provider may pause. */
const MOST_PAUSES = 10;

const natural: Ending = { reason: "end_turn", error: null };
const cancelled: Ending = { reason: "cancelled", error: "cancelled" };

function failure(thrown: unknown, emit: RunningTurn["emit"]): Ending {
  const { code: name, message, retryable } = asAgentError(thrown);
  emit({ type: "error", metadata: { name, message, retryable } });
  return { reason: "error", error: message };
}

/** Runs a turn without steps. Its text is for the person and stays out of the summary. */
async function sumUp(run: RunningTurn, focus: string): Promise<Ending> {
  const text = await compactHistory(run, focus);
  run.emit({ type: "text_delta", metadata: { text } });
  run.progress.output = text;
  return natural;
}

async function runSteps(run: RunningTurn): Promise<Ending> {
  run.limits = createLimits(run);
  const pursuit = createPursuit();
  for (;;) {
    const ending = (await run.limits.reached()) ?? (await runStep(run, pursuit));
    if (ending) return ending;
  }
}

/** Null when another step must follow. */
async function runStep(run: RunningTurn, pursuit: Pursuit): Promise<Ending | null> {
  const step = run.progress.steps++;
  run.emit({ type: "step_start", metadata: { step } });
  try {
    const draft = await nextReply(run, pursuit);
    if (!draft) return null;
    if (run.model.textCalls) readCallsInText(run, draft);
    // A paused reply with calls needs their results first, like any other reply.
    if (draft.stop === "pause" && draft.calls.length === 0) return rest(run, draft);
    run.progress.pauses = 0;
    const ending = endingOf(draft);
    if (ending) return ending;
    run.progress.calls += draft.calls.length;
    await act(run, draft);
    return run.signal.aborted ? cancelled : null;
  } finally {
    run.emit({ type: "step_end", metadata: { step } });
  }
}

/** Keeps a paused reply. The provider continues it when it gets the conversation again with the reply unchanged. */
function rest(run: RunningTurn, draft: Draft): null {
  if (run.progress.pauses++ >= MOST_PAUSES)
    throw new AgentError("provider_failed", `the provider paused its reply ${run.progress.pauses} times in a row`);
  run.context.messages.push({ role: "assistant", parts: draft.parts.take() });
  return null;
}

function readCallsInText({ toolbox, ids }: RunningTurn, { stop, text, calls }: Draft): void {
  if (stop !== "end" || calls.length > 0) return;
  for (const call of callsInText(text, toolbox)) calls.push({ ...call, id: ids.take("") });
}

function endingOf({ stop, calls }: Draft): Ending | null {
  if (stop === "refusal") return { reason: "refusal", error: "the model refused to answer" };
  // The last call may be cut off, so no call of the reply runs.
  if (stop === "max_tokens") return { reason: "max_tokens", error: "the reply reached the model's output limit" };
  return calls.length === 0 ? natural : null;
}

async function act(run: RunningTurn, draft: Draft): Promise<void> {
  const { context, toolbox, workspace, model } = run;
  const calls = await Promise.all(draft.calls.map((call) => prepareCall(call, toolbox, workspace)));
  for (const [at, call] of calls.entries()) {
    const sealed = sealOf(model, sealOfCall(draft.calls[at] as RawCall, call));
    const metadata = { kind: "call" as const, call_id: call.id, ...sealed };
    if (sealed.seal) recordPart(draft, { type: "part_end", metadata }, run.emit);
    recordPart(draft, announcement(call), run.emit);
  }
  context.messages.push({ role: "assistant", parts: draft.parts.take() });
  context.messages.push(...(await runCalls(run, calls)));
  run.repeats?.endStep();
}

/** The limits of a turn together with its tasks, in steps and in dollars. A task also has limits of its own. */
function createLimits(run: RunningTurn): Limits {
  const { maxSteps, maxCostUsd } = run.turn.settings;
  const pauses = [
    ...(run.shared || maxSteps !== null ? [] : [stepPause(run)]),
    ...(maxCostUsd === null ? [] : [unpricedPause(run, maxCostUsd)]),
    ...(run.shared || maxCostUsd === null ? [] : [costPause(run, maxCostUsd)]),
  ];
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
      // Negated, so that a limit of NaN ends the turn instead of never being reached.
      if (maxSteps !== null && !(taken < maxSteps))
        return { reason: "max_turn_requests", error: `the limit of ${maxSteps} steps is reached` };
      taken += 1;
      // Tasks that run at the same time share one question, and a no applies to all of them.
      asking ??= firstOf().then((reached) => {
        if (!reached) asking = null;
        return reached;
      });
      return (await asking) ?? run.shared?.limits.reached() ?? null;
    },
  };
}

/** Steps between two questions when no limit is set. */
const STEPS_BETWEEN = 100;

/** Asks if its limit is reached. @param steps the number of steps before this one */
type Pause = (steps: number) => Promise<Reached | null>;

function stepPause(run: RunningTurn): Pause {
  let next = STEPS_BETWEEN;
  return async (steps) => {
    if (steps < next) return null;
    next = steps + STEPS_BETWEEN;
    const { autoApproveWrites, autoApproveExecute } = run.flags();
    // Do not ask when approvals are automatic, and continue when nobody answers. Only a person's explicit no ends the turn.
    if (autoApproveWrites && autoApproveExecute) return null;
    const answer = await ask(run, {
      tool: "continue_over_steps",
      args: { steps },
      title: `Go on? ${steps} steps are taken`,
      unanswered: true,
    });
    if (answer === "always") next = Number.POSITIVE_INFINITY;
    return answer ? null : { reason: "max_turn_requests", error: `stopped after ${steps} steps on request` };
  };
}

function unpricedPause(run: RunningTurn, limit: number): Pause {
  const { model, spending } = run;
  let isAccepted = model.price !== null;
  return async () => {
    if (isAccepted) return null;
    const why = `the price of ${model.id} is not known, so the cost limit of ${dollars(limit)} cannot be kept`;
    const args = { spent_usd: spending.total, limit_usd: limit, priced: false };
    const title = `Go on? ${why.charAt(0).toUpperCase()}${why.slice(1)}`;
    isAccepted = (await ask(run, { tool: "continue_over_budget", args, title, unanswered: false })) !== null;
    return isAccepted ? null : { reason: "max_tokens", error: why };
  };
}

function costPause(run: RunningTurn, budget: number): Pause {
  const { spending } = run;
  let limit = budget;
  return async () => {
    if (spending.total < limit) return null;
    const args = { spent_usd: spending.total, limit_usd: limit };
    const title = `Go on? ${dollars(spending.total)} of ${dollars(limit)} is spent`;
    if (!(await ask(run, { tool: "continue_over_budget", args, title, unanswered: false })))
      return { reason: "max_tokens", error: "the cost limit is reached" };
    // Raise the limit by one more budget, and ask again when that is spent.
    limit = spending.total + Math.max(budget, 0.01);
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
  /** Whether to continue when nobody answers. */
  readonly unanswered: boolean;
}

/** Null for no. The question does not offer `always`; if a client sends it anyway, it means yes for the rest of the turn. */
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
