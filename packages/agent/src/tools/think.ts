/** Two tools that change nothing: think, where a model writes down its reasoning, and todo, the plan that people see. */
import * as v from "valibot";
import { defineTool, describeCall } from "./define.js";

export const thinkTool = defineTool({
  name: "think",
  description: "Write down a thought before acting. Nothing is read or changed.",
  input: v.object({ thought: v.string() }),
  kind: "think",
  parallel: true,
  describe: () => describeCall("Think"),
  run: async () => ({ success: true, output: "Noted." }),
});

const MAX_ITEMS = 100;

/** Each call has the whole list, so the last call is the state. */
export const todoTool = defineTool({
  name: "todo",
  aliases: ["TodoWrite", "todo_write"],
  description: "Show the plan: always send the complete list, with at most one item in progress.",
  input: v.object({
    todos: v.pipe(
      v.array(
        v.object({
          content: v.pipe(v.string(), v.description("What is to be done, in a few words.")),
          status: v.optional(v.picklist(["pending", "in_progress", "completed"]), "pending"),
          priority: v.optional(v.picklist(["high", "medium", "low"]), "medium"),
        }),
      ),
      v.maxLength(MAX_ITEMS),
      v.description(`At most ${MAX_ITEMS} items.`),
    ),
  }),
  kind: "think",
  parallel: false,
  describe: ({ todos }) => describeCall(`Plan ${todos.length} ${todos.length === 1 ? "step" : "steps"}`),
  run: async ({ todos }, context) => {
    const entries = todos.map(({ content, priority, status }) => ({ content, priority, status }));
    context.emit({ type: "plan", metadata: { entries } });
    const open = todos.filter(({ status }) => status !== "completed").length;
    return { success: true, output: `${todos.length} in the plan, ${open} open.` };
  },
});
