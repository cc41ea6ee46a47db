/** think: a place for the model to reason in the open; it changes nothing. */
import * as v from "valibot";
import { defineTool } from "./define.js";

export const thinkTool = defineTool({
  name: "think",
  description: "Write down a thought before acting. Nothing is read or changed.",
  input: v.object({ thought: v.string() }),
  kind: "think",
  parallel: true,
  describe: () => ({ title: "Think", locations: [], touches: { reads: [], writes: [] } }),
  run: async () => ({ success: true, output: "Noted." }),
});
