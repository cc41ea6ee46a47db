// The least an ACP agent can be that asks before it acts: lines of JSON on stdin and stdout, no library.
import { createInterface } from "node:readline";

const waiting = new Map();
const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const ask = (method, params) =>
  new Promise((resolve) => {
    const id = `q${waiting.size}`;
    waiting.set(id, resolve);
    send({ id, method, params });
  });

const answers = {
  initialize: () => ({ protocolVersion: 1, agentInfo: { name: "clock", version: "1.0.0" } }),
  "session/new": () => ({ sessionId: "s-1" }),
  async "session/prompt"({ sessionId }) {
    const update = (one) => send({ method: "session/update", params: { sessionId, update: one } });
    const toolCall = { toolCallId: "call-1", title: "Look at the clock", kind: "execute" };
    update({ sessionUpdate: "tool_call", ...toolCall, status: "pending" });
    const options = [
      { optionId: "yes", name: "Yes", kind: "allow_once" },
      { optionId: "no", name: "No", kind: "reject_once" },
    ];
    const { outcome } = await ask("session/request_permission", { sessionId, toolCall, options });
    const isAllowed = outcome.optionId === "yes";
    update({ sessionUpdate: "tool_call_update", toolCallId: "call-1", status: isAllowed ? "completed" : "failed" });
    const text = isAllowed ? `It is ${new Date().toISOString().slice(11, 16)}.` : "I may not look.";
    update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
    return { stopReason: "end_turn" };
  },
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) waiting.get(id)?.(result);
  else if (answers[method]) send({ id, result: await answers[method](params) });
});
