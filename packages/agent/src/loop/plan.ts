/** The plan an editor shows when the model keeps no todo list: one entry per tool call. */
import type { AgentEvent, PlanEntry } from "@chimera/acp-schema/events";

/** Only the latest entries are shown, so that a long turn's plans stay small. */
const LONGEST = 50;

export interface Plan {
  /** A call starts; the returned function is told how it ended. */
  start(title: string): (success: boolean) => void;
  /** A todo list took over: it is the plan from now on. */
  yieldToTodo(): void;
}

export function createPlan(emit: (event: AgentEvent) => void, hasTodo: boolean): Plan {
  const entries: PlanEntry[] = [];
  let silent = hasTodo;
  const show = (): void => {
    if (!silent) emit({ type: "plan", metadata: { entries: entries.map((entry) => ({ ...entry })) } });
  };
  return {
    start(title) {
      const entry: PlanEntry = { content: title, priority: "medium", status: "in_progress" };
      entries.push(entry);
      if (entries.length > LONGEST) entries.shift();
      show();
      return (success) => {
        // What failed was not completed: it stays in progress until the model deals with it.
        if (success) entry.status = "completed";
        show();
      };
    },
    yieldToTodo() {
      silent = true;
    },
  };
}
