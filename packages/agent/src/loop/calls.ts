/**
 * Runs the tool calls of a step. They are announced together, each needs permission, and each gets one result. Calls that only read
 * run side by side; the others run in order.
 */
import type { AgentEvent, Metadata, ResolvedBy, ToolContent } from "@chimera/acp-schema/events";
import type { PartEvent } from "@chimera/acp-schema/parts";
import { startOf } from "@chimera/acp-schema/text";
import type { ModelMessage } from "../providers/model.js";
import type { Task, Tool, ToolOutcome } from "../tool.js";
import type { Call, Runnable } from "./call.js";
import { abortable, withDeadline } from "./patience.js";
import { createRepeats } from "./repeats.js";
import type { RunningTurn } from "./running-turn.js";

const SIDE_BY_SIDE = 8;
/** How long a permission request waits for its preview. */
const PREVIEW_MS = 2_000;
/** How long a cancelled tool may take to stop. Then the turn goes on without it, so that it ends within two seconds. */
const GRACE_MS = 1_500;
/** Most characters of one output, for every tool. Most tools have shorter limits of their own. */
const LONGEST_OUTPUT = 200_000;
/** Most characters of a picture's data that clients get. */
const LARGEST_IMAGE = 512 * 1024;
/** Events that may wait for the session. Beyond that, progress events are dropped. */
const PROGRESS_WINDOW = 4_096;

/** The event that shows a call to clients before it runs. */
export function announcement({ id, name, args, kind, title, locations }: Call): PartEvent {
  return { type: "tool_call", metadata: { call_id: id, tool: name, args, kind, title, locations: [...locations] } };
}

/** Runs announced calls and returns their results as messages, in the order of the calls. Never throws. */
export async function runCalls(run: RunningTurn, calls: readonly Call[]): Promise<ModelMessage[]> {
  const results: ModelMessage[] = [];
  for (const group of groupsOf(calls)) results.push(...(await Promise.all(group.map((call) => runCall(run, call)))));
  return results;
}

// --- internal ---

/** Why a call may not run, in words for the model, and the kind of refusal. */
interface Refusal {
  readonly why: string;
  readonly error: "permission_denied" | "sandbox_violation";
}

/** Asks the session whether the call may run: its rules answer, or a person. Null when the call is allowed. */
async function refusalOf(run: RunningTurn, call: Call, { tool, input, touches }: Runnable): Promise<Refusal | null> {
  await run.taken();
  const { decision, by, why, reason, isViolation } = await run.ask({
    call_id: call.id,
    tool: tool.name,
    args: call.args,
    risk: "medium",
    content: () => previewOf(run, tool, input),
    call: { kind: tool.kind, touches, names: [tool.name, ...tool.aliases] },
  });
  if (decision === "allow" || decision === "always") return null;
  if (isViolation) return { why: why ?? "", error: "sandbox_violation" };
  const said = reason === undefined ? "" : ` They say why: ${reason}`;
  return { why: `${REFUSALS[by](why ?? "a rule says no")}${said}`, error: "permission_denied" };
}

/** Shows what the call would change, if that can be computed in time. The person is asked in any case. */
async function previewOf(
  { workspace, signal: turn }: RunningTurn,
  tool: Tool,
  input: unknown,
): Promise<readonly ToolContent[]> {
  return withDeadline(turn, PREVIEW_MS, async (signal) => {
    if (!tool.preview) return [];
    try {
      return await abortable(tool.preview(input, { workspace, signal }), signal, 0);
    } catch (error) {
      const why = signal.aborted ? `computing it takes longer than ${PREVIEW_MS / 1000} s` : (error as Error).message;
      return [{ type: "text", text: `[the change is not shown: ${why}]` }];
    }
  });
}

/** Groups neighbouring calls that may run side by side. Every other call is its own group. */
function groupsOf(calls: readonly Call[]): Call[][] {
  const groups: Call[][] = [];
  let open: Call[] | undefined;
  for (const call of calls) {
    const parallel = "problem" in call.plan || call.plan.tool.parallel;
    if (parallel && open && open.length < SIDE_BY_SIDE) open.push(call);
    else {
      const group = [call];
      groups.push(group);
      open = parallel ? group : undefined;
    }
  }
  return groups;
}

async function runCall(run: RunningTurn, call: Call): Promise<ModelMessage> {
  const startedAt = run.clock.now();
  const done = run.plan.start(call.title);
  // A cancelled tool that did not stop may still emit events; the turn ignores them.
  let listening = true;
  const emit = (event: AgentEvent): void => {
    if (!listening || (event.type === "tool_progress" && run.pending() > PROGRESS_WINDOW)) return;
    if (event.type === "plan") run.plan.yieldToTodo();
    run.emit(event);
  };
  const outcome = noted(run, call, limited(await outcomeOf(run, call, emit)));
  listening = false;
  const metadata: Metadata<"tool_result"> = {
    call_id: call.id,
    success: outcome.success,
    output: outcome.output,
    duration_ms: Math.max(0, Math.round(run.clock.now() - startedAt)),
  };
  if (outcome.error !== undefined) metadata.error = outcome.error;
  const content = [...(outcome.content ?? []), ...(outcome.images ?? []).flatMap(shownImage)];
  if (content.length > 0) metadata.content = content;
  run.emit({ type: "tool_result", metadata });
  done(outcome.success);
  return {
    role: "tool",
    id: call.id,
    name: call.name,
    success: outcome.success,
    output: outcome.output || outcome.error || "",
    ...(outcome.images?.length ? { images: outcome.images } : {}),
  };
}

async function outcomeOf(run: RunningTurn, call: Call, emit: (event: AgentEvent) => void): Promise<ToolOutcome> {
  if ("problem" in call.plan) return failed(call.plan.problem, "invalid_call");
  const { tool, input, touches } = call.plan;
  try {
    if (run.signal.aborted) return failed("The turn was cancelled before this call ran.", "cancelled");
    const refusal = await abortable(refusalOf(run, call, call.plan), run.signal, 0);
    if (run.signal.aborted) return failed("The turn was cancelled before this call ran.", "cancelled");
    if (refusal) return failed(refusal.why, refusal.error);
    // This update shows clients that the call no longer waits for other calls or for permission.
    emit({ type: "tool_update", metadata: { call_id: call.id } });
    const { workspace, signal, spill, jobs, question, delegate, spending, limits } = run;
    const context = {
      callId: call.id,
      workspace,
      signal,
      permitted: touches,
      emit,
      spill,
      jobs,
      question,
      delegate: delegate && limits && ((task: Task) => delegate({ ...task, emit, spending, limits, signal })),
    };
    const running = run.traced(async () => {
      const outcome = await tool.run(input, context);
      return run.annotate ? run.annotate(outcome, context) : outcome;
    });
    return await abortable(running, signal, GRACE_MS);
  } catch (error) {
    if (run.signal.aborted) return failed("The call was cancelled.", "cancelled");
    const message = error instanceof Error ? error.message : String(error);
    return failed(`${call.name} failed: ${message}`, message);
  }
}

/** Shows a picture to clients if it fits into a frame. The model gets it in any case. */
function shownImage({ mimeType, data }: NonNullable<ToolOutcome["images"]>[number]): ToolContent[] {
  return data.length > LARGEST_IMAGE ? [] : [{ type: "block", block: { type: "image", mimeType, data } }];
}

function failed(output: string, error: string): ToolOutcome {
  return { success: false, output, error };
}

/** Adds a note to the result when the model repeats itself. */
function noted(run: RunningTurn, { name, args }: Call, outcome: ToolOutcome): ToolOutcome {
  const output = outcome.output || outcome.error || "";
  run.repeats ??= createRepeats();
  const note = run.repeats.note({ name, args }, output);
  return note ? { ...outcome, output: output + note } : outcome;
}

function limited(outcome: ToolOutcome): ToolOutcome {
  const output = String(outcome.output ?? "");
  if (output.length <= LONGEST_OUTPUT) return outcome;
  const left = output.length - LONGEST_OUTPUT;
  return { ...outcome, output: `${startOf(output, LONGEST_OUTPUT)}\n[${left} more characters were left out]` };
}

const REFUSALS: Readonly<Record<ResolvedBy, (why: string) => string>> = {
  rule: (why) => `Not permitted: ${why}`,
  client: () => "The user denied this call. Do not try it again; ask what to do instead, or go on without it.",
  timeout: () => "Nobody answered the permission request, so the call was denied.",
  cancel: () => "The turn was cancelled before anybody answered.",
  eviction: () => "The session was closed before anybody answered.",
};
