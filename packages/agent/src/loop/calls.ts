/** The tool calls of a step: announced together, each permitted, reads side by side and the rest in order; one result each. */
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
/** How long a question may wait for what it shows. */
const PREVIEW_MS = 2_000;
/** How long a cancelled tool may take to stop before it is left behind: a cancelled turn ends within two seconds. */
const GRACE_MS = 1_500;
/** More than any model wants to read; tools keep shorter limits of their own. */
const LONGEST_OUTPUT = 200_000;
/** Characters of a picture's data that clients are shown. */
const LARGEST_IMAGE = 512 * 1024;
/** Progress nobody has taken yet; more than this many events of it are dropped. */
const PROGRESS_WINDOW = 4_096;

/** A call as clients see it before it runs. */
export function announcement({ id, name, args, kind, title, locations }: Call): PartEvent {
  return { type: "tool_call", metadata: { call_id: id, tool: name, args, kind, title, locations: [...locations] } };
}

/** Runs calls that were announced and returns their results as messages, in the order of the calls. Never throws. */
export async function runCalls(run: RunningTurn, calls: readonly Call[]): Promise<ModelMessage[]> {
  const results: ModelMessage[] = [];
  for (const group of groupsOf(calls)) results.push(...(await Promise.all(group.map((call) => runCall(run, call)))));
  return results;
}

// --- internal ---

/** Why a call may not run, in words for the model, and what kind of refusal it is. */
interface Refusal {
  readonly why: string;
  readonly error: "permission_denied" | "sandbox_violation";
}

/** Asks whether the call may run, as every engine does: the session's rules answer, or a person. null when it may. */
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

/** What the call would change, while that is found out soon; a person is asked in any case. */
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
      const why = signal.aborted ? `it takes longer than ${PREVIEW_MS / 1000} s to work out` : (error as Error).message;
      return [{ type: "text", text: `[the change is not shown: ${why}]` }];
    }
  });
}

/** Neighbours that may run side by side form a group; everything else is a group of its own. */
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
  // A tool that was left behind may go on, but its turn no longer listens.
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
    // Announced calls wait for their turn and for permission; from here on this one runs.
    emit({ type: "tool_update", metadata: { call_id: call.id } });
    const { workspace, signal, spill, jobs, question, delegate, spending, limits } = run;
    const context = {
      callId: call.id,
      workspace,
      signal,
      permitted: touches,
      emit,
      ...(spill && { spill }),
      ...(jobs && { jobs }),
      ...(question && { question }),
      ...(delegate && limits && { delegate: (task: Task) => delegate({ ...task, emit, spending, limits, signal }) }),
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

/** What a person is shown of a picture, where it fits into a frame; the model gets it in any case. */
function shownImage({ mimeType, data }: NonNullable<ToolOutcome["images"]>[number]): ToolContent[] {
  return data.length > LARGEST_IMAGE ? [] : [{ type: "block", block: { type: "image", mimeType, data } }];
}

function failed(output: string, error: string): ToolOutcome {
  return { success: false, output, error };
}

/** A model that goes in circles reads so in the result. */
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
