// A model of one's own: anything that streams events can drive the agent, here a parrot that reads the file it is asked
// about and repeats its first line. It checks itself: the exit code is the verdict.
import assert from "node:assert/strict";
import { createAgent, createConversation } from "@chimera/agent";
import { localWorkspace, readTool } from "@chimera/agent/tools";

/** @type {import("@chimera/agent/providers").Model} */
const parrot = {
  provider: "parrot",
  id: "parrot-1",
  contextWindow: 8_000,
  price: { input: 1, output: 2, cacheRead: 1, cacheWrite: 1 },
  async *stream({ messages }) {
    const last = messages.at(-1);
    if (last.role === "user") {
      yield [{ type: "call", id: "", name: "Read", args: JSON.stringify({ path: last.text }) }];
      yield [{ type: "stop", reason: "calls" }];
      return;
    }
    // Each array is what arrived together; a real provider yields one per network chunk.
    for (const word of last.output.split("\n")[0].split(" ")) yield [{ type: "text", text: `${word} ` }];
    yield [
      { type: "usage", usage: { input: 900, output: 50, cacheRead: 0, cacheWrite: 0, reasoning: 0 } },
      { type: "stop", reason: "end" },
    ];
  },
};

const agent = createAgent({ resolveModel: () => parrot, tools: [readTool] });
const conversation = createConversation(agent, { workspace: localWorkspace(import.meta.dirname) });
const seen = new Map();
for await (const event of conversation.prompt("main.mjs")) seen.set(event.type, event.metadata);

console.log(seen.get("agent_result"));
assert.match(seen.get("agent_result").output, /A model of one's own/);
assert.equal(seen.get("usage").total_usd, 0.001);
