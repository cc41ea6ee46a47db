/** An agent from its parts: a way to find models, tools, and a system prompt. Each call is asked for; the answer is the session's. */
import { setMaxListeners } from "node:events";
import type { Agent, AgentContext, Turn, Workspace } from "@chimera/acp-schema/agent";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { createOutbox, type Outbox } from "@chimera/acp-schema/outbox";
import { callsOf } from "@chimera/acp-schema/parts";
import { createCallIds } from "./loop/draft.js";
import { type Clock, systemClock } from "./loop/patience.js";
import type { Delegate, Progress, RunningTurn, Shared, Trace } from "./loop/running-turn.js";
import { type Compact, summarise } from "./loop/summary.js";
import { createPlan, createToolbox } from "./loop/toolbox.js";
import { runTurn } from "./loop/turn.js";
import { createSpending, createWindow, openModelContext } from "./loop/window.js";
import { type Model, parseEffort } from "./providers/model.js";
import type { Jobs, Tool } from "./tool.js";

export interface AgentOptions {
  /** Finds the model a turn names; what it throws ends the turn with an error event. */
  readonly resolveModel: (name: string) => Model | Promise<Model>;
  /** @defaultValue none */
  readonly tools?: readonly Tool[] | ((turn: Turn, context: AgentContext) => Promise<readonly Tool[]>);
  /** @defaultValue none */
  readonly systemPrompt?: string | ((turn: Turn, workspace: Workspace) => string | Promise<string>);
  /** Keeps output that is too long for the model aside; returns where. */
  readonly spill?: (turn: Turn, name: string, text: string) => Promise<string>;
  /** Where commands go on after their call. @defaultValue nowhere: each ends with its call */
  readonly jobs?: Jobs;
  /** @defaultValue there is no other agent */
  readonly delegate?: Delegate;
  /** For a task: what it shares with the turn that it is part of. */
  readonly shared?: Shared;
  /** Adds to what a tool answered before the model reads it. */
  readonly annotate?: RunningTurn["annotate"];
  /** How a conversation is summed up that grows too long. @defaultValue `summarise`: the model is asked */
  readonly compact?: Compact;
  readonly clock?: Clock;
  /** In [0, 1): spreads retries. */
  readonly random?: () => number;
  /** Runs the tools of a turn so that a rejection nobody handles can be traced to it. @defaultValue just runs them */
  readonly trace?: Trace;
}

/**
 * An agent. Runs when its events are asked for; a consumer that stops asking holds it back, one that leaves cancels.
 *
 * @example
 * const agent = createAgent({ resolveModel: createModels({ env: process.env, chain: anthropicFirst }) });
 * const sessions = createSessions({ ...deps, agent });
 */
export function createAgent(options: AgentOptions): Agent {
  return (turn, context) => {
    const own = new AbortController();
    // Each call of a step listens, and so does what it starts: more listeners than Node takes for sane.
    setMaxListeners(0, own.signal);
    const cancel = (): void => own.abort(context.signal.reason);
    // Most turns call nothing.
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
  const { tools = [], systemPrompt = "", spill, annotate, jobs, delegate, shared } = options;
  const { workspace, signal, ask } = context;
  const [model, offered, system] = await Promise.all([
    options.resolveModel(turn.settings.model),
    typeof tools === "function" ? tools(turn, context) : tools,
    typeof systemPrompt === "function" ? systemPrompt(turn, workspace) : systemPrompt,
  ]);
  signal.throwIfAborted();
  const modelContext = openModelContext(turn, model);
  const toolbox = createToolbox(
    offered.filter((tool) => tool.available?.(workspace) ?? true),
    turn.settings.allowedTools,
  );
  return {
    turn,
    model,
    effort: parseEffort(turn.settings.options?.["effort"]),
    system,
    toolbox,
    workspace,
    ask,
    flags: context.flags,
    traced,
    signal,
    emit: outbox.push,
    taken: outbox.taken,
    pending: () => outbox.pending,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    plan: createPlan(outbox.push, keepsTodo(turn)),
    spending: createSpending(model, shared?.spending ?? turn.settings.spentUsd),
    context: modelContext,
    window: createWindow(model, { system, tools: toolbox.tools }),
    compact: options.compact ?? summarise,
    ids: createCallIds(modelContext.messages, turn.number),
    progress,
    ...(annotate && { annotate }),
    ...(jobs && { jobs }),
    ...(delegate && { delegate }),
    ...(shared && { shared }),
    ...(context.question && { question: context.question }),
    ...(spill ? { spill: (name: string, text: string) => spill(turn, name, text) } : {}),
  };
}

/** A todo list of an earlier turn is still the plan. */
function keepsTodo({ history }: Turn): boolean {
  return history.some(
    (message) => message.role === "assistant" && callsOf(message).some((call) => call.name === "todo"),
  );
}
