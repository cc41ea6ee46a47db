// The agent asks the person, and gives work to other agents: over HTTP and in an editor, cancelled and killed.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { launch, textPrompt } from "./clients/editor.js";
import { processesWith } from "./clients/processes.js";
import { scratchTree } from "./scratch.js";
import { startServer, until } from "./server.js";

const ask = { call: "ask", args: { question: "Which one?", options: ["red", "blue"] } };
const answered = {
  turns: [{ steps: [{ reply: [ask] }, { expect: { result: "blue" }, reply: [{ text: "Blue it is." }] }] }],
};

async function serve(script: object, args: string[] = []) {
  const file = join(scratchTree({ "script.json": script }), "script.json");
  const server = await startServer(["--model", `scripted:${file}`, ...args]);
  const { body } = await server.ask("POST /sessions", { body: { prompt: "go" } });
  return { server, id: body.session_id as string };
}

test("over HTTP the first answer counts, and what is not a question is an error", async () => {
  const { server, id } = await serve(answered);
  const frames = await until(server.frames(`/sessions/${id}/events`), ({ event }) => event === "question_asked");
  const { question_id, options } = frames.at(-1)!.data.metadata;
  expect(options).toEqual([{ name: "red" }, { name: "blue" }]);
  expect((await server.ask(`GET /sessions/${id}/questions`)).body.questions).toMatchObject([{ question_id }]);
  const answer = (qid: string, body: object) => server.ask(`POST /sessions/${id}/questions/${qid}`, { body });
  expect((await answer(question_id, { answer: 7 })).status).toBe(400);
  expect((await answer("question-none", { answer: "x" })).body.error).toBe("question_not_found");
  expect((await answer(question_id, { answer: "blue" })).status).toBe(200);
  expect((await answer(question_id, { answer: "red" })).body.error).toBe("already_resolved");
  const all = await server.all(`/sessions/${id}/events`);
  expect(all.find(({ event }) => event === "question_answered")?.data.metadata).toEqual({
    question_id,
    answer: "blue",
    by: "client",
  });
  expect(all.findLast(({ event }) => event === "agent_result")?.data.metadata.success).toBe(true);
});

test("an editor that offers forms is asked with one, and a cancel takes the question back", async () => {
  const steps = [{ reply: [ask] }, { reply: [{ text: "Good." }] }];
  const editor = launch("otter", { script: { turns: [{ steps }, { steps }] } });
  onTestFinished(() => editor.dispose());
  await editor.request("initialize", { protocolVersion: 1, clientCapabilities: { elicitation: { form: {} } } });
  const { result } = await editor.request("session/new", { cwd: editor.cwd, mcpServers: [] });
  const { sessionId } = result;
  editor.answer(({ method }) =>
    method === "elicitation/create" ? { action: "accept", content: { answer: "red" } } : undefined,
  );
  await editor.request("session/prompt", textPrompt(sessionId, "one"));
  const asked = await editor.find(({ method }) => method === "elicitation/create");
  expect(asked.params.requestedSchema.properties.answer.oneOf).toHaveLength(2);
  expect(editor.lines.some((line) => line.includes('"output":"red"'))).toBe(true);
  editor.answer(() => undefined);
  const second = editor.start("session/prompt", textPrompt(sessionId, "two"));
  await expect.poll(() => editor.frames.filter(({ method }) => method === "elicitation/create").length).toBe(2);
  editor.notify("session/cancel", { sessionId });
  expect((await second.answer).result.stopReason).toBe("cancelled");
});

/** A session whose model gives a task to the agent `helper`, which has a script of its own. */
async function withHelper(head: string, inside: object[]) {
  const calls = [...inside.map((call) => ({ reply: [call] })), { reply: [{ text: "Looked at it." }] }];
  const given = { call: "task", args: { prompt: "Look at it", agent: "helper" } };
  const files = scratchTree({
    "outer.json": { turns: [{ steps: [{ reply: [given] }, { reply: [{ text: "Done." }] }] }] },
    "inner.json": { turns: [{ steps: calls }] },
  });
  const server = await startServer(["--model", `scripted:${join(files, "outer.json")}`, "--mode", "auto"]);
  const folder = join(server.program.cwd, ".opencode/agent");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "helper.md"),
    `---\nmode: subagent\nmodel: scripted:${join(files, "inner.json")}\n${head}\n---\nHelp.`,
  );
  const { body } = await server.ask("POST /sessions", { body: { prompt: "go" } });
  return { server, id: body.session_id as string };
}

test("a task works in a context of its own, its records are nested, and it may do no more than its agent", async () => {
  const write = { call: "Write", args: { path: "made.txt", content: "x" } };
  const { server, id } = await withHelper("permission: read_only", [
    { call: "Read", args: { path: "README.md" } },
    write,
  ]);
  const frames = await server.all(`/sessions/${id}/events`);
  const nested = frames.filter(({ event }) => event === "task_event").map(({ data }) => data.metadata.event);
  expect(nested.filter(({ type }) => type === "tool_result").map(({ metadata }) => metadata.success)).toEqual([
    true,
    false,
  ]);
  expect(existsSync(join(server.program.cwd, "made.txt"))).toBe(false);
  const results = frames.filter(({ event }) => event === "tool_result").map(({ data }) => data.metadata);
  expect(results).toMatchObject([{ success: true, output: "Looked at it." }]);
  expect(frames.filter(({ event }) => event === "tool_call")).toHaveLength(1);
});

test("a cancel reaches the command of a task", { tags: ["needs-linux"] }, async () => {
  const marker = `sleep 5${Date.now()}`;
  const { server, id } = await withHelper("max_steps: 9", [{ call: "Bash", args: { command: marker } }]);
  await until(server.frames(`/sessions/${id}/events`), ({ event }) => event === "task_event");
  await expect.poll(() => processesWith(marker).length, { timeout: 5000 }).toBeGreaterThan(0);
  await server.ask(`POST /sessions/${id}/cancel`);
  const frames = await server.all(`/sessions/${id}/events`);
  expect(frames.map(({ event }) => event)).toContain("cancelled");
  await expect.poll(() => processesWith(marker), { timeout: 5000 }).toEqual([]);
});
