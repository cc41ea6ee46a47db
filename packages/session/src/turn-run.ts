/**
 * Runs one turn. The events of the agent go to the log as they come. Whatever the agent does, the turn ends with exactly one last record,
 * and all other records of the turn stand before it.
 */
import type { Agent, AgentContext, Turn } from "@chimera/acp-schema/agent";
import type { Conversation, TurnView } from "@chimera/acp-schema/conversation";
import type { AgentEvent, Metadata } from "@chimera/acp-schema/events";
import { createGrowingText, endOf, type GrowingText } from "@chimera/acp-schema/text";
import { limits } from "./limits.js";

/** A running turn, with all that its agent's events need. */
export interface TurnRun {
  readonly number: number;
  readonly signal: AbortSignal;
  readonly conversation: Conversation;
  /** True if it was cancelled or is being settled. */
  readonly isOver: boolean;
  /** Records an event of the turn; text may wait for the end of the tick. */
  record(event: AgentEvent): void;
  /** Records several events in one write: all or none. */
  recordAll(events: readonly AgentEvent[]): void;
  /** Null if the log has room, else a promise that resolves when it has. */
  room(): Promise<void> | null;
  /** Resolves one pass of the event loop later, when readers have had a chance to see the records. */
  shown(): Promise<void>;
  /** Ends a turn that cannot continue, as a cancel does. */
  abort(): void;
  /** Denies unanswered questions, waits for the log, and keeps a snapshot of the files, before the last record. Further calls do nothing more. */
  settle(): Promise<void>;
}

/** How an agent's run ended. */
export interface AgentOutcome {
  /** The last record of the turn. */
  readonly ending: Ending;
  /** True if the agent sent `turn_end` itself. */
  readonly isEnded: boolean;
  readonly stopReason: Metadata<"turn_end">["stop_reason"];
  /** The first message, of which a title is made. Null for a turn without a model's answer. */
  readonly opening: string | null;
}

/** Runs the agent and records its events, until it ends, fails, or ignores a cancel for too long. */
export async function runAgent(
  run: TurnRun,
  agent: Agent,
  turn: Turn,
  context: Omit<AgentContext, "fail">,
): Promise<AgentOutcome> {
  const { usage, toolCalls } = run.conversation.facts;
  const state: AgentState = {
    before: { usage, toolCalls },
    text: createGrowingText(),
    firstMessage: "",
    isSilent: true,
    ending: null,
    isEnded: false,
    fault: null,
  };
  const fail = (error: Error) => {
    if (state.ending || run.signal.aborted) return;
    state.fault = error;
    run.abort();
  };
  let isLeft = false;
  const consume = async () => {
    for await (const event of agent(turn, { ...context, fail })) {
      if (isLeft) return;
      // Events after the agent's last record, or after a failure, are not recorded, but the agent may finish.
      if (state.ending || state.fault) continue;
      recordEvent(run, state, event);
      const room = run.room();
      if (room) await room;
      const isSaid = event.type === "text_delta" || event.type === "thought_delta";
      if (!isSaid || !state.isSilent) continue;
      // A model may send thousands of deltas at once. Let readers see the first one before the others are handled.
      state.isSilent = false;
      await run.shown();
    }
  };
  const late = lateAfter(run.signal);
  let thrown: Error | null = null;
  try {
    await Promise.race([consume(), late.passed]);
  } catch (error) {
    thrown = error instanceof Error ? error : new Error(String(error));
  } finally {
    isLeft = true;
    late.dispose();
  }
  return conclude(run, state, state.fault ?? thrown);
}

/** The last record of a prompt that never ran. */
export const NEVER_RAN: AgentEvent = { type: "cancelled", metadata: { output: "", steps: 0, cost: 0 } };

/** The records that end a turn which was cut short, so that the conversation stays well-formed. */
export function interruptedTurn(conversation: Conversation, turn: TurnView, message: string): AgentEvent[] {
  if (!turn.started) return [NEVER_RAN];
  return [
    ...denials(conversation),
    ...resultsForOpenCalls(conversation, message),
    { type: "error", metadata: { name: "Interrupted", message, retryable: true } },
    { type: "turn_end", metadata: { stop_reason: "error" } },
    {
      type: "agent_result",
      metadata: { output: "", steps: turn.steps, tool_calls_total: 0, cost: 0, success: false, error: message },
    },
  ];
}

/** The denials of all unanswered questions. */
export function denials({ openPermissions, openQuestions }: Conversation): AgentEvent[] {
  const by = "eviction";
  const denied = [...openPermissions.keys()].map((permission_id) => ({ permission_id, decision: "deny", by }) as const);
  const unanswered = [...openQuestions.keys()].map((question_id) => ({ question_id, answer: null, by }) as const);
  return [
    ...denied.map((metadata) => ({ type: "permission_resolved", metadata }) as const),
    ...unanswered.map((metadata) => ({ type: "question_answered", metadata }) as const),
  ];
}

/** A failed result for every call without a result. */
export function resultsForOpenCalls(conversation: Conversation, error: string): AgentEvent[] {
  return [...conversation.openCalls.keys()].map((call_id) => ({
    type: "tool_result",
    metadata: { call_id, success: false, output: "", error, duration_ms: 0 },
  }));
}

// --- internal ---

interface AgentState {
  readonly before: Totals;
  readonly text: GrowingText;
  /** The text of the first step that has any. */
  firstMessage: string;
  /** True while this step has no text. */
  isSilent: boolean;
  ending: Ending | null;
  isEnded: boolean;
  /** The error that ended the turn from outside the agent's own events. */
  fault: Error | null;
}

function recordEvent(run: TurnRun, state: AgentState, event: AgentEvent): void {
  switch (event.type) {
    case "agent_result":
    case "cancelled":
      state.ending = event;
      return;
    case "usage":
      run.record({ type: "usage", metadata: addUsage(event.metadata, state.before.usage) });
      return;
    case "turn_end":
      state.isEnded = true;
      break;
    case "text_delta":
      state.text.add(event.metadata.text);
      break;
    case "step_end":
      state.firstMessage ||= state.text.read();
      state.isSilent = true;
      break;
    default:
      break;
  }
  run.record(event);
}

function conclude(run: TurnRun, state: AgentState, failure: Error | null): AgentOutcome {
  const isCancelled = run.signal.aborted && !state.fault && state.ending?.type !== "agent_result";
  if (failure && !isCancelled) {
    const { name, message } = failure;
    run.record({ type: "error", metadata: { name, message, retryable: false } });
  }
  const output = state.text.read();
  const ending = lastRecord(run, state.before, { given: state.ending, output, isCancelled, failure });
  const isStepped = ending.type === "agent_result" && ending.metadata.steps > 0;
  return {
    ending,
    isEnded: state.isEnded,
    stopReason: isCancelled ? "cancelled" : failure ? "error" : "end_turn",
    opening: isStepped ? state.firstMessage || output : null,
  };
}

/** `passed` resolves some time after the signal. Then the turn ends, even if the agent ignores the cancel. */
function lateAfter(signal: AbortSignal): { readonly passed: Promise<void>; dispose(): void } {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = () => {};
  const passed = new Promise<void>((resolve) => {
    onAbort = () => {
      timer = setTimeout(resolve, limits.unwindMs);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  return {
    passed,
    dispose() {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}

/** Cuts the output of a last record. The deltas have the whole text; a record of megabytes would be too large for the log and for readers. */
function bounded<M extends { readonly output: string }>(metadata: M): M {
  if (metadata.output.length <= limits.outputChars) return metadata;
  return { ...metadata, output: endOf(metadata.output, limits.outputChars) };
}

type Ending = Extract<AgentEvent, { type: "agent_result" | "cancelled" }>;

/** The session's totals when a turn began. */
type Totals = Pick<Conversation["facts"], "usage" | "toolCalls">;

/** Adds the session's totals to the usage of an agent, which knows only the tokens of its own turn. */
function addUsage(usage: Metadata<"usage">, base: Metadata<"usage"> | null): Metadata<"usage"> {
  if (!base) return usage;
  return {
    ...usage,
    input: usage.input + base.input,
    output: usage.output + base.output,
    cache: usage.cache + base.cache,
    reasoning: usage.reasoning + base.reasoning,
  };
}

/** The last record of a turn that ran: the agent's own, or else one made from its events. */
function lastRecord(
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
      // An agent that reports no steps has done one.
      steps: Math.max(steps, 1),
      tool_calls_total: toolCalls - before.toolCalls,
      cost,
      success: failure === null,
      error: failure?.message ?? null,
    }),
  };
}
