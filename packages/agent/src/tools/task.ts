/** task: gives a piece of work to another agent, which has its own context. */
import { startOf } from "@chimera/acp-schema/text";
import * as v from "valibot";
import { defineTool, describeCall, failure } from "./define.js";

export const taskTool = defineTool({
  name: "task",
  aliases: ["Agent", "delegate"],
  description:
    "Give a piece of work to another agent and get its report. It sees nothing of this conversation, so say all it needs. " +
    "Several at once run side by side.",
  input: v.object({
    prompt: v.pipe(v.string(), v.nonEmpty(), v.maxLength(100_000)),
    agent: v.optional(
      v.pipe(v.string(), v.description("explore and review only read; general also changes files.")),
      "explore",
    ),
  }),
  kind: "think",
  parallel: true,
  describe: ({ prompt, agent }) => describeCall(`${startOf(agent, 40)}: ${prompt.split("\n", 1)[0] ?? ""}`),
  run: async (input, { callId, delegate }) =>
    delegate ? delegate({ callId, ...input }) : failure("There is no other agent to work on it."),
});
