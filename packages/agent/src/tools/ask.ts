/** ask: asks the person a question. They choose one of the options or answer in their own words. */
import * as v from "valibot";
import { defineTool, describeCall, failure } from "./define.js";

export const askTool = defineTool({
  name: "ask",
  aliases: ["ask_user", "AskUserQuestion", "question"],
  description: "Ask the person a question that only they can answer, and wait for it.",
  input: v.object({
    question: v.pipe(v.string(), v.nonEmpty(), v.maxLength(4000)),
    options: v.optional(
      v.pipe(
        v.array(v.pipe(v.string(), v.maxLength(200))),
        v.maxLength(12),
        v.description("To choose from; other answers stay possible."),
      ),
      [],
    ),
  }),
  kind: "think",
  parallel: false,
  describe: ({ question }) => describeCall(question.split("\n", 1)[0] ?? ""),
  run: async ({ question, options }, { callId, question: put }) => {
    if (!put) return failure("There is nobody to ask. Decide yourself, and say what you decided.");
    const { answer, by } = await put({ call_id: callId, question, options: options.map((name) => ({ name })) });
    if (answer !== null) return { success: true, output: answer };
    return failure(
      by === "client"
        ? "The person did not want to answer. Go on without it."
        : "Nobody answered. Decide yourself, and say what you decided.",
    );
  },
});
