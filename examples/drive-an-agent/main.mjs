// Driving an ACP agent from a program of one's own: start it, open a session, watch what it says, answer what it asks. Give a command line
// (`node main.mjs codex-acp`) to drive that agent; without one, the small agent beside this file plays the part, and the program checks
// itself: the exit code is the verdict.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { connectAgent } from "@chimera/acp-engine";

const given = process.argv.slice(2);
const [command, ...args] = given.length > 0 ? given : [process.execPath, join(import.meta.dirname, "agent.mjs")];
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });

const kinds = new Set();
let said = "";
const agent = await connectAgent({
  input: child.stdout,
  output: child.stdin,
  client: { name: "drive-an-agent", version: "1.0.0" },
  onUpdate(_session, { sessionUpdate, content }) {
    kinds.add(sessionUpdate);
    if (sessionUpdate === "agent_message_chunk" && content.type === "text") said += content.text;
  },
  // The answer is this program's to give: here it allows everything once.
  async onPermission({ toolCall, options }) {
    console.log(`It asks: ${toolCall.title}`);
    const { optionId } = options.find(({ kind }) => kind === "allow_once") ?? options[0];
    return { outcome: { outcome: "selected", optionId } };
  },
});
console.log(`${agent.about.agentInfo?.name} is there.`);

const { sessionId } = await agent.request("session/new", { cwd: process.cwd(), mcpServers: [] });
const prompt = [{ type: "text", text: "What time is it?" }];
const { stopReason } = await agent.request("session/prompt", { sessionId, prompt });
console.log(said);
await agent.close();
child.kill();

assert.equal(stopReason, "end_turn");
if (given.length === 0) {
  assert.match(said, /^It is \d\d:\d\d\.$/);
  assert.deepEqual([...kinds].sort(), ["agent_message_chunk", "tool_call", "tool_call_update"]);
}
