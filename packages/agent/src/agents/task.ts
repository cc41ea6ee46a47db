/** A task: work that one agent gives to another. It has its own context, and shares the turn's budget, permissions and cancellation. */
import type { AgentContext, AskRequest, Turn } from "@chimera/acp-schema/agent";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { type AgentOptions, createAgent } from "../create-agent.js";
import type { Delegate } from "../loop/running-turn.js";
import type { ToolOutcome } from "../tool.js";
import type { AgentDefinition } from "./definition.js";

export interface TaskParts {
  readonly turn: Turn;
  readonly context: AgentContext;
  /** The options for the agent that works on the task, and for the model that it asks. */
  outfit(definition: AgentDefinition, model: string): AgentOptions;
  readonly agents: readonly AgentDefinition[];
}

/** Events of a task that are recorded below its call. Text is joined first, because people read a task folded and afterwards. */
const SHOWN = new Set(["tool_call", "tool_result", "file_edit", "notice", "error"]);

export async function runTask(
  { turn, context, outfit, agents }: TaskParts,
  { callId, prompt, agent: name, emit, spending, limits, signal }: Parameters<Delegate>[0],
): Promise<ToolOutcome> {
  const takers = agents.filter(({ hidden }) => !hidden);
  const definition = takers.find((one) => one.name === name);
  if (!definition) {
    const output = `No agent is called ${JSON.stringify(name)}. Known agents: ${takers.map((one) => one.name).join(", ")}.`;
    return { success: false, output, error: "unknown_agent" };
  }
  const idOf = (id: string) => `${callId}/${id}`;
  const record = (event: AgentEvent) => emit({ type: "task_event", metadata: { call_id: callId, event } });
  // Also where a person named another model for the session: this one is for such tasks.
  const model = definition.model ?? turn.settings.model;
  const settings = { ...turn.settings, model, maxSteps: definition.maxSteps, allowedTools: null };
  const own = {
    sessionId: turn.sessionId,
    number: turn.number,
    prompt: { text: prompt },
    history: [],
    seen: [],
    settings,
  };
  const inner = createAgent({ ...outfit(definition, model), shared: { spending, limits } })(own, {
    ...context,
    signal,
    ask: (request: AskRequest) =>
      context.ask({
        ...request,
        call_id: idOf(request.call_id),
        // The call must satisfy the rules of both agents: the one that gave the task and the one that works on it.
        ...(request.call && { call: { ...request.call, agent: definition.name } }),
      }),
    ...(context.question && {
      question: (question) => context.question!({ ...question, call_id: idOf(question.call_id) }),
    }),
  });
  let said = "";
  let outcome: ToolOutcome = { success: false, output: "The task was cancelled.", error: "cancelled" };
  const flush = () => {
    if (said !== "") record({ type: "text_delta", metadata: { text: said } });
    said = "";
  };
  for await (const event of inner) {
    if (event.type === "text_delta") said += event.metadata.text;
    else if (event.type === "usage") emit({ type: "usage", metadata: spending.state() });
    // A sandbox violation is emitted at the top level, so that every client shows and counts it.
    else if (event.type === "sandbox_violation") emit(event);
    else if (event.type === "agent_result") {
      const { success, output, error } = event.metadata;
      outcome = success ? { success, output } : { success, output: output || (error ?? ""), error: error ?? "failed" };
    } else if (SHOWN.has(event.type)) {
      flush();
      record(withId(event, idOf));
    }
  }
  flush();
  return outcome;
}

// --- internal ---

function withId(event: AgentEvent, idOf: (id: string) => string): AgentEvent {
  const { metadata } = event as { metadata: { call_id?: string } };
  return metadata.call_id === undefined
    ? event
    : ({ ...event, metadata: { ...metadata, call_id: idOf(metadata.call_id) } } as AgentEvent);
}
