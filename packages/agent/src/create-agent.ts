/** Makes an agent from its parts: a way to find models, tools, and a system prompt. The session permits or denies each call. */
import { setMaxListeners } from "node:events";
import type { Agent, AgentContext, Turn } from "@chimera/acp-schema/agent";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { createOutbox, type Outbox } from "@chimera/acp-schema/outbox";
import { callsOf } from "@chimera/acp-schema/parts";
import { createCallIds } from "./loop/draft.js";
import { type Clock, systemClock } from "./loop/patience.js";
import type { Delegate, Progress, RunningTurn, Shared, Trace } from "./loop/running-turn.js";
import { createPlan, createToolbox } from "./loop/toolbox.js";
import { runTurn } from "./loop/turn.js";
import { createSpending, createWindow, openModelContext } from "./loop/window.js";
import { type Model, parseEffort } from "./providers/model.js";
import type { Jobs, Tool } from "./tool.js";

export interface AgentOptions {
  /** Finds the model that a turn names. If it throws, the turn ends with an error event. */
  readonly resolveModel: (name: string) => Model | Promise<Model>;
  /** @defaultValue none */
  readonly tools?: readonly Tool[];
  /** @defaultValue none */
  readonly systemPrompt?: string;
  /** Saves the full text of an output that is too long for the model, and returns the path. */
  readonly spill?: (turn: Turn, name: string, text: string) => Promise<string>;
  /** Runs commands that continue after their call. @defaultValue every command ends with its call */
  readonly jobs?: Jobs;
  /** @defaultValue there is no other agent */
  readonly delegate?: Delegate;
  /** For a task: the budget that it shares with its turn. */
  readonly shared?: Shared;
  /** Adds to a tool's answer before the model reads it. */
  readonly annotate?: RunningTurn["annotate"];
  readonly clock?: Clock;
  /** Returns a number in [0, 1) that spreads retries. */
  readonly random?: () => number;
  /** Runs the tools of a turn so that an unhandled rejection can be traced to the turn. @defaultValue runs them untraced */
  readonly trace?: Trace;
}

/**
 * Makes an agent. It runs while a consumer takes its events: a slow consumer slows it down, and one that stops early cancels the turn.
 *
 * @example
 * const agent = createAgent({ resolveModel: createModels({ env: process.env, chain: anthropicFirst }) });
 * const sessions = createSessions({ ...deps, agent });
 */
export function createAgent(options: AgentOptions): Agent {
  return (turn, context) => {
    const own = new AbortController();
    // Every call of a step listens, and so does what it starts. Together they exceed the number at which Node warns of a leak.
    setMaxListeners(0, own.signal);
    const cancel = (): void => own.abort(context.signal.reason);
    // Made with the first call, because many turns make none.
    let tracing: ReturnType<Trace> | undefined;
    const traced: RunningTurn["traced"] = (work) => {
      tracing ??= (options.trace ?? untraced)(context.fail);
      return tracing.run(work);
    };
    const produce = async (outbox: Outbox<AgentEvent>): Promise<void> => {
      if (context.signal.aborted) cancel();
      else context.signal.addEventListener("abort", cancel, { once: true });
      try {
        await runTurn(outbox.push, own.signal, (progress) =>
          openRun(options, turn, { ...context, signal: own.signal }, { outbox, progress, traced }),
        );
      } finally {
        tracing?.end();
        context.signal.removeEventListener("abort", cancel);
      }
    };
    return createOutbox(produce, () => own.abort(new DOMException("nobody is listening", "AbortError")));
  };
}

// --- internal ---

const untraced: Trace = () => ({ run: (work) => work(), end() {} });

async function openRun(
  options: AgentOptions,
  turn: Turn,
  context: AgentContext,
  { outbox, progress, traced }: { outbox: Outbox<AgentEvent>; progress: Progress; traced: RunningTurn["traced"] },
): Promise<RunningTurn> {
  const { tools = [], systemPrompt: system = "", spill, annotate, jobs, delegate, shared } = options;
  const model = await options.resolveModel(turn.settings.model);
  context.signal.throwIfAborted();
  const modelContext = openModelContext(turn, model);
  const toolbox = createToolbox(
    tools.filter(({ needs }) => needs === undefined || context.workspace[needs] !== undefined),
    turn.settings.allowedTools,
  );
  return {
    ...context,
    turn,
    model,
    effort: parseEffort(turn.settings.options?.["effort"]),
    system,
    toolbox,
    traced,
    emit: outbox.push,
    taken: outbox.taken,
    pending: () => outbox.pending,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    plan: createPlan(outbox.push, keepsTodo(turn)),
    spending: createSpending(model, shared?.spending ?? turn.settings.spentUsd),
    context: modelContext,
    window: createWindow(model, { system, tools: toolbox.tools }),
    ids: createCallIds(modelContext.messages, turn.number),
    progress,
    annotate,
    jobs,
    delegate,
    shared,
    spill: spill && ((name, text) => spill(turn, name, text)),
  };
}

/** Whether an earlier turn used the todo tool, whose list is then still the plan. */
function keepsTodo({ history }: Turn): boolean {
  return history.some(
    (message) => message.role === "assistant" && callsOf(message).some((call) => call.name === "todo"),
  );
}
