/**
 * One turn: what an agent yields goes into the log as it comes; whatever the agent does, the turn ends with exactly one last
 * record, and everything that belongs to the turn stands before it.
 */
import type { AgentEvent, RecordOf } from "@chimera/acp-schema/events";
import { createGrowingText, endOf } from "@chimera/acp-schema/text";
import type { Agent, AgentContext, Turn } from "./agent-port.js";
import type { History } from "./history.js";
import { limits } from "./limits.js";
import type { Place, Recorder } from "./recorder.js";
import { titleFrom } from "./title.js";

type Ending = Extract<AgentEvent, { type: "agent_result" | "cancelled" }>;

export interface TurnRun {
  readonly agent: Agent;
  readonly turn: Turn;
  readonly context: AgentContext;
  readonly history: History;
  readonly recorder: Recorder;
  readonly place: Place;
  /** Runs between the agent's last word and the last record: the snapshot of the files it touched. */
  readonly settle: () => Promise<void>;
  /** Ends the turn as a cancel does. */
  readonly abort: () => void;
  readonly owner: OwnTurn;
}

/** Gives a turn an owner of its work; `fail` ends the turn with an error. */
export type OwnTurn = (fail: (error: Error) => void) => TurnOwner;

/** What a turn's work is traced back by: a promise that rejects where nobody listens says nothing of whose it was. */
export interface TurnOwner {
  run<T>(work: () => Promise<T>): Promise<T>;
  /** The turn is over. */
  end(): void;
}

/** Resolves when the last record is appended. Rejects when the log cannot be written. */
export async function runTurn(run: TurnRun): Promise<void> {
  const { recorder, place, history } = run;
  recorder.write({ type: "turn_start", metadata: { prompt: `msg-${run.turn.number}` } }, place);
  const heard = await listen(run);
  const unfinished = resultsForOpenCalls(history, heard.cancelled ? "cancelled" : "the tool did not finish");
  if (unfinished.length > 0) recorder.writeAll(unfinished, place);
  await run.settle();
  if (history.facts.title === null && !heard.cancelled && heard.stepped) {
    const title = titleFrom(heard.opening);
    if (title) recorder.write({ type: "title_changed", metadata: { title } }, place);
  }
  if (!heard.ended) recorder.write({ type: "turn_end", metadata: { stop_reason: heard.stopReason } }, place);
  recorder.write(withinBounds(heard.ending), place);
}

/** A result for every call that has none, so that the conversation stays well-formed. */
export function resultsForOpenCalls(history: History, error: string): AgentEvent[] {
  return [...history.openCalls.keys()].map((call_id) => ({
    type: "tool_result",
    metadata: { call_id, success: false, output: "", error, duration_ms: 0 },
  }));
}

// --- internal ---

interface Heard {
  readonly ending: Ending;
  readonly ended: boolean;
  readonly stopReason: RecordOf<"turn_end">["metadata"]["stop_reason"];
  readonly cancelled: boolean;
  /** False for a turn that no model answered, such as a slash command. */
  readonly stepped: boolean;
  /** The first message, which a title is made of. */
  readonly opening: string;
}

async function listen(run: TurnRun): Promise<Heard> {
  const { recorder, place, context, history, turn } = run;
  const text = createGrowingText();
  const before = { usage: history.facts.usage, toolCalls: history.facts.toolCalls };
  let ending: Ending | null = null;
  let ended = false;
  let left = false;
  /** What the agent left behind that ended the turn. */
  let fault: Error | null = null;
  /** What the first step that said anything said. */
  let firstMessage = "";

  const take = (event: AgentEvent): void => {
    switch (event.type) {
      case "agent_result":
      case "cancelled":
        ending = event;
        return;
      case "turn_end":
        ended = true;
        break;
      case "text_delta":
        text.add(event.metadata.text);
        break;
      case "step_end":
        firstMessage ||= text.read();
        break;
      case "usage":
        recorder.add({ type: "usage", metadata: addUsage(event.metadata, before.usage) }, place);
        return;
      default:
        break;
    }
    recorder.add(event, place);
  };

  const consume = async () => {
    for await (const event of run.agent(turn, { ...context, own: owner.run })) {
      if (left) return;
      // What comes after an agent's last word, or ours, is not heard, but it is let finish.
      if (!ending && !fault) take(event);
    }
  };
  const owner = run.owner((error) => {
    if (!ending && !context.signal.aborted) {
      fault = error;
      run.abort();
    }
  });

  let failure: Error | null = null;
  const abandoned = unwound(context.signal);
  try {
    await Promise.race([consume(), abandoned.late]);
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
  } finally {
    left = true;
    owner.end();
    abandoned.dispose();
  }

  const output = text.read();
  const cancelled = context.signal.aborted && !fault && (ending as Ending | null)?.type !== "agent_result";
  failure = fault ?? failure;
  if (failure && !cancelled) {
    const { name, message } = failure;
    recorder.write({ type: "error", metadata: { name, message, retryable: false } }, place);
  }
  const own: Ending = cancelled ? { type: "cancelled", metadata: { output } } : resultOf(run, before, output, failure);
  const last: Ending = ending ?? own;
  return {
    ending: last,
    ended,
    cancelled: last.type === "cancelled",
    stepped: last.type === "agent_result" && last.metadata.steps > 0,
    stopReason: cancelled ? "cancelled" : failure ? "error" : "end_turn",
    opening: firstMessage || output,
  };
}

/** The last word of an agent that said none, from what it did. */
function resultOf(
  { history, turn }: TurnRun,
  before: Pick<History["facts"], "usage" | "toolCalls">,
  output: string,
  failure: Error | null,
): Ending {
  const { usage, toolCalls } = history.facts;
  return {
    type: "agent_result",
    metadata: {
      output,
      // An agent that reports no steps took one.
      steps: Math.max(history.turns[turn.number]?.steps ?? 0, 1),
      tool_calls_total: toolCalls - before.toolCalls,
      cost: (usage?.total_usd ?? 0) - (before.usage?.total_usd ?? 0),
      success: failure === null,
      error: failure?.message ?? null,
    },
  };
}

/** The whole text is in the deltas: a last record of megabytes would be too much for the log, or reach each reader in one piece. */
function withinBounds(ending: Ending): Ending {
  const { output } = ending.metadata;
  if (output.length <= limits.outputChars) return ending;
  return { ...ending, metadata: { ...ending.metadata, output: endOf(output, limits.outputChars) } } as Ending;
}

/** Usage records carry the session's totals; an agent knows only its own turn's tokens. */
function addUsage(
  usage: RecordOf<"usage">["metadata"],
  base: RecordOf<"usage">["metadata"] | null,
): RecordOf<"usage">["metadata"] {
  if (!base) return usage;
  return {
    ...usage,
    input: usage.input + base.input,
    output: usage.output + base.output,
    cache: usage.cache + base.cache,
    reasoning: usage.reasoning + base.reasoning,
  };
}

/** Settles a while after the signal: an agent that ignores a cancel is left behind. */
function unwound(signal: AbortSignal): { late: Promise<void>; dispose(): void } {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = () => {};
  const late = new Promise<void>((resolve) => {
    onAbort = () => {
      timer = setTimeout(resolve, limits.unwindMs);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  return {
    late,
    dispose() {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}
