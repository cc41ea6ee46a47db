/** A turn: step after step until one of its endings, each of them typed and announced the same way. */
import type { StopReason } from "@chimera/acp-schema/events";
import { asAgentError, isAgentError } from "../errors.js";
import { sealOfCall } from "../providers/written-call.js";
import { abortable } from "./abortable.js";
import { type Budget, createBudget } from "./budget.js";
import { prepareCall } from "./call.js";
import { announcement, runCalls } from "./calls.js";
import { isCrowded, makeRoom } from "./compaction.js";
import { createDraft, type Draft, type RawCall, sealOf, tell } from "./draft.js";
import type { Run } from "./run.js";
import { streamStep } from "./step.js";

interface Ending {
  readonly reason: StopReason;
  /** Why the turn did not reach its natural end. */
  readonly error: string | null;
}

interface Progress {
  steps: number;
  calls: number;
  /** The last thing the model said; partial when it was interrupted. */
  output: string;
}

const natural: Ending = { reason: "end_turn", error: null };

/** `open` makes the run; what it throws ends the turn like any other failure. */
export async function runTurn(emit: Run["emit"], signal: AbortSignal, open: () => Promise<Run>): Promise<void> {
  const progress: Progress = { steps: 0, calls: 0, output: "" };
  let run: Run | undefined;
  let ending: Ending;
  try {
    signal.throwIfAborted();
    run = await abortable(open(), signal, 0);
    ending = await runSteps(run, progress);
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

const cancelled: Ending = { reason: "cancelled", error: "cancelled" };

function failure(thrown: unknown, emit: Run["emit"]): Ending {
  const { code: name, message, retryable } = asAgentError(thrown);
  emit({ type: "error", metadata: { name, message, retryable } });
  return { reason: "error", error: message };
}

async function runSteps(run: Run, progress: Progress): Promise<Ending> {
  const { maxSteps } = run.turn.settings;
  const budget = createBudget(run);
  for (;;) {
    // Written so that a limit that is not a number ends the turn instead of never being reached.
    if (!(progress.steps < maxSteps))
      return { reason: "max_turn_requests", error: `the limit of ${maxSteps} steps is reached` };
    const ending = await runStep(run, progress, budget);
    if (ending) return ending;
  }
}

/** null when the model wants to go on. */
async function runStep(run: Run, progress: Progress, budget: Budget): Promise<Ending | null> {
  if (!(await budget.allows())) return { reason: "max_tokens", error: "the cost limit is reached" };
  const step = progress.steps++;
  run.emit({ type: "step_start", metadata: { step } });
  try {
    const draft = await replyOf(run, progress);
    const ending = endingOf(draft);
    if (ending) return ending;
    progress.calls += draft.calls.length;
    await act(run, draft);
    return run.signal.aborted ? cancelled : null;
  } finally {
    run.emit({ type: "step_end", metadata: { step } });
  }
}

function endingOf({ stop, calls }: Draft): Ending | null {
  if (stop === "refusal") return { reason: "refusal", error: "the model refused to answer" };
  // A call that was cut off must not run, so none of that reply's do.
  if (stop === "max_tokens") return { reason: "max_tokens", error: "the reply reached the model's output limit" };
  return calls.length === 0 ? natural : null;
}

async function act(run: Run, draft: Draft): Promise<void> {
  const { context, toolbox, workspace, model } = run;
  const calls = await Promise.all(draft.calls.map((call) => prepareCall(call, toolbox, workspace)));
  for (const [at, call] of calls.entries()) {
    const sealed = sealOf(model, sealOfCall(draft.calls[at] as RawCall, call));
    const metadata = { kind: "call" as const, call_id: call.id, ...sealed };
    if (sealed.seal) tell(draft, { type: "part_end", metadata }, run.emit);
    tell(draft, announcement(call), run.emit);
  }
  context.messages.push({ role: "assistant", parts: draft.parts.take() });
  context.messages.push(...(await runCalls(run, calls)));
}

/** The model's whole reply; what it cost and said is on record even when it was interrupted. */
async function replyOf(run: Run, progress: Progress): Promise<Draft> {
  if (isCrowded(run)) await makeRoom(run);
  for (;;) {
    const draft = createDraft();
    const { system, signal, context, toolbox, turn } = run;
    const request = { system, messages: context.messages, tools: toolbox.tools, signal, session: turn.sessionId };
    try {
      await streamStep(run, request, draft);
      return draft;
    } catch (error) {
      if (!isAgentError(error) || error.code !== "context_overflow" || draft.text) throw error;
      if (!(await makeRoom(run))) throw error;
    } finally {
      if (draft.text) progress.output = draft.text;
      if (draft.usage) {
        run.spending.add(draft.usage);
        run.emit({ type: "usage", metadata: run.spending.state() });
      }
    }
  }
}
