// An agent asks before it runs a command; a client sees the question in the event stream and answers it.
import assert from "node:assert/strict";
import { createClient } from "@chimera/client";
import { createMemoryStore } from "@chimera/event-store";
import { createApp } from "@chimera/http-server";
import { listen } from "@chimera/http-server/node";
import { createSessions } from "@chimera/session";

/** Asks for every word of the prompt, and says what the answer was. */
async function* cautious({ prompt }, { ask }) {
  yield { type: "step_start", metadata: { step: 0 } };
  for (const [index, command] of prompt.text.split(" ").entries()) {
    const call = { call_id: `call-${index}`, tool: "Bash", args: { command } };
    yield { type: "tool_call", metadata: { ...call, kind: "execute", title: command, locations: [] } };
    const { decision } = await ask({ ...call, risk: command === "ls" ? "low" : "high" });
    const success = decision === "allow";
    yield {
      type: "tool_result",
      metadata: { call_id: call.call_id, success, output: success ? "done" : "refused", duration_ms: 0 },
    };
    yield { type: "text_delta", metadata: { text: `${command}: ${decision}\n` } };
  }
  yield { type: "step_end", metadata: { step: 0 } };
}

const store = createMemoryStore();
const sessions = createSessions({ agent: cautious, store, prefix: "example", defaults: { model: "none" } });
const app = createApp({ name: "example", version: "1.0.0", sessions, defaultCwd: "/" });
const server = await listen(app, { host: "127.0.0.1", port: 0 });
const base = `http://127.0.0.1:${server.port}`;

const client = createClient({ url: base });
const session = await client.sessions.start("ls rm");

let output = "";
for await (const { type, metadata } of session.follow()) {
  if (type === "permission_request") {
    // Here a person would decide.
    await session.answer(metadata.permission_id, metadata.risk === "low" ? "allow" : "deny");
    const second = session.answer(metadata.permission_id, "allow");
    await assert.rejects(second, { code: "already_resolved", status: 409 });
  }
  if (type === "agent_result") output = metadata.output;
}

assert.equal(output, "ls: allow\nrm: deny\n");
console.log(output);
await Promise.all([server.close(), sessions.shutdown()]);
