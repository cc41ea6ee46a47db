// Any language model of the AI SDK drives the agent: here one of `@ai-sdk/openai-compatible`, which talks to a small server in this
// file. Put `mistral("mistral-large-latest")` or `bedrock("...")` in its place. It checks itself: the exit code is the verdict.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createAgent, createConversation } from "@chimera/agent";
import { fromAiSdk } from "@chimera/agent/ai-sdk";
import { localWorkspace, readTool } from "@chimera/agent/tools";

/** Answers the first request with a call, and the second one, which brings the file, with the number of its lines. */
const server = createServer(async (request, response) => {
  const { messages } = await json(request);
  const result = messages.findLast((message) => message.role === "tool");
  const delta = result
    ? { content: `It has ${result.content.split("\n").length} lines.` }
    : { tool_calls: [{ index: 0, id: "c1", function: { name: "Read", arguments: '{"path":"main.mjs"}' } }] };
  response.writeHead(200, { "content-type": "text/event-stream" });
  const choice = (delta, finish_reason = null) => ({ choices: [{ index: 0, delta, finish_reason }] });
  for (const chunk of [choice(delta), choice({}, result ? "stop" : "tool_calls")]) {
    response.write(`data: ${JSON.stringify({ id: "r1", ...chunk })}\n\n`);
  }
  response.end("data: [DONE]\n\n");
});
server.listen(0, "127.0.0.1");
await once(server, "listening");

const shop = createOpenAICompatible({ name: "shop", baseURL: `http://127.0.0.1:${server.address().port}/v1` });
const agent = createAgent({ resolveModel: () => fromAiSdk(shop("any-model")), tools: [readTool] });
const conversation = createConversation(agent, { workspace: localWorkspace(import.meta.dirname) });
let result;
for await (const event of conversation.prompt("How long is main.mjs?")) {
  if (event.type === "agent_result") result = event.metadata;
}
server.close();
server.closeAllConnections();

console.log(result);
assert.match(result.output, /^It has \d\d lines\.$/);
