// An agent of one's own in thirty lines: a custom tool beside the built-in ones, no server, and no network, since without
// a key the offline interpreter answers. It checks itself: the exit code is the verdict.
import assert from "node:assert/strict";
import { anthropicFirst, createAgent, createConversation, createModels } from "@chimera/agent";
import { builtinTools, defineTool, localWorkspace } from "@chimera/agent/tools";
import * as v from "valibot";

const dice = defineTool({
  name: "roll_dice",
  description: "Rolls a die and says what came up.",
  input: v.object({ sides: v.pipe(v.number(), v.integer(), v.minValue(2)) }),
  kind: "other",
  parallel: true,
  describe: ({ sides }) => ({ title: `Roll a d${sides}`, locations: [], touches: { reads: [], writes: [] } }),
  run: async ({ sides }) => ({ success: true, output: `It came up ${1 + Math.floor(Math.random() * sides)}.` }),
});

const agent = createAgent({
  resolveModel: createModels({ env: {}, chain: anthropicFirst }),
  tools: [...builtinTools(), dice],
  systemPrompt: "You are a helpful gambler.",
});
const ask = async ({ tool }) => ({ decision: tool === "roll_dice" ? "allow" : "deny", by: "client" });
const conversation = createConversation(agent, { workspace: localWorkspace(import.meta.dirname), ask });

let said = "";
for await (const event of conversation.prompt('list files and call roll_dice {"sides": 6}')) {
  if (event.type === "text_delta") process.stdout.write(event.metadata.text);
  if (event.type === "agent_result") said = event.metadata.output;
}
assert.match(said, /main\.mjs[\s\S]*It came up [1-6]\./);
assert.equal(conversation.messages.filter((message) => message.role === "tool").length, 2);
