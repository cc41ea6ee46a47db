/**
 * One turn that runs: one value that carries all it needs. What an agent yields goes into the log as it comes; whatever the agent does,
 * the turn ends with exactly one last record, and everything that belongs to the turn stands before it.
 */
import type { Agent, AgentContext, Turn } from "@chimera/acp-schema/agent";
import type { Conversation } from "@chimera/acp-schema/conversation";
import type { AgentEvent, Metadata } from "@chimera/acp-schema/events";
import { createGrowingText, type GrowingText } from "@chimera/acp-schema/text";
import { addUsage, type Ending, lastRecord, type Totals } from "./last-record.js";
import { limits } from "./limits.js";

export interface TurnRun {
  readonly number: number;
  readonly signal: AbortSignal;
  readonly conversation: Conversation;
  /** Records an event of the turn; text may wait for the end of the tick. */
  record(event: AgentEvent): void;
  /** Records several in one write: all of them reach the log, or none. */
  recordAll(events: readonly AgentEvent[]): void;
  /** Ends the turn as a cancel does; for a turn that cannot go on. */
  abort(): void;
  /** Denies what was asked, writes out, keeps a snapshot: once, however often it is called. The last record follows. */
  settle(): Promise<void>;
}

/** What became of an agent's work: the last record, and whether the rest of the turn's end is written already. */
export interface Heard {
  readonly ending: Ending;
  /** The agent recorded `turn_end` itself. */
  readonly isEnded: boolean;
  readonly stopReason: Metadata<"turn_end">["stop_reason"];
  /** The first message, which a title is made of; null for a turn that no model answered. */
  readonly opening: string | null;
}

/** Runs the agent and records what it yields, until it ends, fails or is left because it ignores a cancel. */
export async function hear(
  run: TurnRun,
  agent: Agent,
  turn: Turn,
  context: Omit<AgentContext, "fail">,
): Promise<Heard> {
  const { usage, toolCalls } = run.conversation.facts;
  const state: Hearing = {
    before: { usage, toolCalls },
    text: createGrowingText(),
    firstMessage: "",
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
      // What comes after an agent's last word, or after a failure, is not recorded, but the agent may finish.
      if (!state.ending && !state.fault) take(run, state, event);
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

// --- internal ---

interface Hearing {
  readonly before: Totals;
  readonly text: GrowingText;
  /** What the first step that said anything said. */
  firstMessage: string;
  ending: Ending | null;
  isEnded: boolean;
  /** What ended the turn from outside of the agent's own events. */
  fault: Error | null;
}

function take(run: TurnRun, state: Hearing, event: AgentEvent): void {
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
      break;
    default:
      break;
  }
  run.record(event);
}

function conclude(run: TurnRun, state: Hearing, failure: Error | null): Heard {
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

/** `passed` resolves a while after the signal: an agent that ignores a cancel is left to itself. */
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
