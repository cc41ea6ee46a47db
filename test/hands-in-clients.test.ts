// One model uses a job, a task, a question, a skill and a page in one turn: over HTTP, and in an editor. The terminal's part is
// in packages/cli/test/terminal-hands.test.ts.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { launch, openSession, textPrompt } from "./clients/editor.js";
import { processesWith } from "./clients/processes.js";
import { scratchTree } from "./scratch.js";
import { startServer, until } from "./server.js";

/** Connections to this name go to this machine; that the name may be reached is decided as ever. */
const HOST = "pages.example";
const TO_LOOPBACK = `import net from "node:net"; const { connect } = net.Socket.prototype; net.Socket.prototype.connect = function (...args) { const to = [args[0]].flat()[0]; if (to?.host === "${HOST}") { to.host = "127.0.0.1"; delete to.lookup; } return connect.apply(this, args); };`;
const play = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TO_LOOPBACK)}` };
const REPORT = "I looked at it.";
const DONE = "All of it works.";

/** A home with a skill and an agent of the person's own, a page, and what the model does. */
async function setUp(mark: string) {
  const pages = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end("<html><body><p>High at <b>noon</b>.</p></body></html>");
  });
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void pages.close());
  const { port } = pages.address() as AddressInfo;
  const inner = { turns: [{ steps: [{ reply: [{ call: "list_files", args: {} }] }, { reply: [{ text: REPORT }] }] }] };
  const scripts = scratchTree({ "inner.json": inner });
  const home = scratchTree({
    ".chimera/skills/greet/SKILL.md": "---\nname: greet\ndescription: How to greet\n---\nSay ahoy.\n",
    ".chimera/agent/helper.md": `---\nmode: subagent\nmodel: scripted:${join(scripts, "inner.json")}\n---\nHelp.`,
  });
  const steps = [
    { reply: [{ call: "Bash", args: { command: `echo up; exec sleep ${mark}`, background: true } }] },
    { expect: { result: "up" }, reply: [{ call: "task", args: { prompt: "Look at it", agent: "helper" } }] },
    { expect: { result: REPORT }, reply: [{ call: "skill", args: { name: "greet" } }] },
    { expect: { result: "Say ahoy." }, reply: [{ call: "web_fetch", args: { url: `http://${HOST}:${port}/` } }] },
    {
      expect: { result: "High at noon." },
      reply: [{ call: "ask", args: { question: "When?", options: ["now", "later"] } }],
    },
    { expect: { result: "later" }, reply: [{ text: DONE }] },
  ];
  return { env: { ...play, HOME: home }, script: { turns: [{ steps }] } };
}

test("over HTTP", { tags: ["needs-linux"] }, async () => {
  const mark = `7${Date.now()}`;
  const { env, script } = await setUp(mark);
  const file = join(scratchTree({ "script.json": script }), "script.json");
  const server = await startServer(["--model", `scripted:${file}`, "--mode", "auto"], env);
  const { body } = await server.ask("POST /sessions", { body: { prompt: "go" } });
  const path = `/sessions/${body.session_id}`;
  const seen = await until(
    server.frames(`${path}/events`),
    ({ event }) => event === "question_asked" || event === "agent_result",
  );
  const { question_id } = seen.at(-1)!.data.metadata;
  await server.ask(`POST ${path}/questions/${question_id}`, { body: { answer: "later" } });
  const frames = await server.all(`${path}/events`);
  const metadata = (type: string) => frames.filter(({ event }) => event === type).map(({ data }) => data.metadata);
  expect(metadata("agent_result")).toMatchObject([{ success: true, output: DONE }]);
  expect(metadata("tool_result").map(({ success }) => success)).toEqual([true, true, true, true, true]);
  expect(metadata("job_started")).toMatchObject([{ job_id: "job-0.1" }]);
  expect(metadata("task_event").map(({ event }) => event.type)).toEqual(["tool_call", "tool_result", "text_delta"]);
  expect(processesWith(mark).length).toBeGreaterThan(0);
  await server.ask(`DELETE ${path}`);
  await expect.poll(() => processesWith(mark), { timeout: 10_000 }).toEqual([]);
});

test("in an editor", { tags: ["needs-linux"] }, async () => {
  const mark = `8${Date.now()}`;
  const { env, script } = await setUp(mark);
  const editor = launch("otter", { script, env, args: ["--mode", "auto"] });
  onTestFinished(() => editor.dispose());
  editor.answer(({ method }) =>
    method === "elicitation/create" ? { action: "accept", content: { answer: "later" } } : undefined,
  );
  const sessionId = await openSession(editor, { elicitation: { form: {} } });
  const { result } = await editor.request("session/prompt", textPrompt(sessionId, "go"));
  expect(result.stopReason).toBe("end_turn");
  const updates = editor.frames.flatMap(({ params }) => (params?.update ? [params.update] : []));
  const calls = updates
    .filter(({ sessionUpdate }) => sessionUpdate === "tool_call")
    .map(({ title }) => title as string);
  expect(calls).toHaveLength(6);
  expect(calls.join("\n")).toMatch(
    /job-0\.1: echo up[\s\S]*helper: Look at it[\s\S]*Skill greet[\s\S]*Fetch pages\.ex/,
  );
  expect(updates.flatMap(({ _meta }) => _meta?.["chimera.dev/task"]?.type ?? [])).toEqual(["tool_call", "text_delta"]);
  const texts = updates.filter(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk");
  expect(texts.map(({ content }) => content.text).join("")).toBe(DONE);
  expect(processesWith(mark).length).toBeGreaterThan(0);
  await editor.dispose();
  await expect.poll(() => processesWith(mark), { timeout: 10_000 }).toEqual([]);
  expect(editor.problems()).toEqual([]);
});
