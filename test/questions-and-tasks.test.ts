// The agent asks the person, and gives work to other agents: over HTTP and in an editor, cancelled and killed.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { launch, textPrompt } from "./clients/editor.js";
import { processesWith } from "./clients/processes.js";
import { connect } from "./peer.js";
import { startProgram } from "./program.js";
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

test.each([
  { name: "otter", id: "requestId", input: "input", decision: "reply" },
  { name: "ferret", id: "id", input: "args", decision: "decision" },
] as const)(
  "$name's native dialect puts a question as a permission, answered in words or not at all",
  async (shape) => {
    const steps = (result: string) => [{ reply: [ask] }, { expect: { result }, reply: [{ text: "Good." }] }];
    const turns = [{ steps: steps("blue") }, { steps: steps("did not want") }];
    const file = join(scratchTree({ "script.json": { turns } }), "script.json");
    const peer = connect(startProgram(shape.name, ["serve", "--acp", "--model", `scripted:${file}`]));
    await peer.request("initialize", {});
    const { sessionId } = (await peer.request("session/new", { cwd: peer.program.cwd })).result;
    const asked = ({ params }: { params?: { kind?: string; update?: { sessionUpdate?: string } } }) =>
      params?.kind === "permission_request" || params?.update?.sessionUpdate === "permission_request";
    for (const answer of [{ [shape.decision]: "allow", answer: "blue" }, { [shape.decision]: "deny" }]) {
      const from = peer.frames.length;
      const turn = peer.request("session/message", { sessionId, message: "go" });
      const frame = await peer.find((one) => peer.frames.indexOf(one) >= from && asked(one));
      const shown = shape.name === "otter" ? frame.params.update : frame.params;
      expect(shown).toMatchObject({ tool: "ask", [shape.input]: { question: "Which one?", options: ["red", "blue"] } });
      const reply = await peer.request("permission/respond", { sessionId, [shape.id]: shown[shape.id], ...answer });
      expect(reply.result).toEqual({ ok: true });
      expect((await turn).result).toMatchObject({ stopReason: "end_turn", output: "Good." });
    }
  },
);

interface Helper {
  /** Lines of the front matter of its file. */
  readonly head?: string;
  /** How many tasks it is given in one step. */
  readonly tasks?: number;
  readonly args?: string[];
  /** Of both models. */
  readonly price?: object;
}

/** A session whose model gives tasks to the agent `helper`, which has a script of its own. */
async function withHelper(inside: object[][], { head = "max_steps: 99", tasks = 1, args = [], price }: Helper = {}) {
  const calls = [...inside.map((reply) => ({ reply })), { reply: [{ text: "Looked at it." }] }];
  const given = { call: "task", args: { prompt: "Look at it", agent: "helper" } };
  const reply = [...(price ? [MILLION] : []), ...Array.from({ length: tasks }, () => given)];
  const files = scratchTree({
    "outer.json": { turns: [{ steps: [{ reply }, { reply: [{ text: "Done." }] }] }], ...(price && { price }) },
    "inner.json": { turns: [{ steps: calls }], ...(price && { price }) },
  });
  const server = await startServer(["--model", `scripted:${join(files, "outer.json")}`, "--mode", "auto", ...args]);
  const folder = join(server.program.cwd, ".opencode/agent");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "helper.md"),
    `---\nmode: subagent\nmodel: scripted:${join(files, "inner.json")}\n${head}\n---\nHelp.`,
  );
  const { body } = await server.ask("POST /sessions", { body: { prompt: "go" } });
  return { server, id: body.session_id as string };
}

const MILLION = { usage: { input: 1_000_000 } };
const READ = { call: "Read", args: { path: "README.md" } };

test("a task works in a context of its own, its records are nested, and it may do no more than its agent", async () => {
  const write = { call: "Write", args: { path: "made.txt", content: "x" } };
  const { server, id } = await withHelper([[READ], [write]], { head: "permission: read_only" });
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

test("a cancel reaches the commands of all tasks", { tags: ["needs-linux"] }, async () => {
  const marker = `sleep 5${Date.now()}`;
  const { server, id } = await withHelper([[{ call: "Bash", args: { command: marker } }]], { tasks: 2 });
  await until(server.frames(`/sessions/${id}/events`), ({ event }) => event === "task_event");
  await expect.poll(() => processesWith(marker).length, { timeout: 5000 }).toBeGreaterThan(1);
  await server.ask(`POST /sessions/${id}/cancel`);
  const frames = await server.all(`/sessions/${id}/events`);
  expect(frames.map(({ event }) => event)).toContain("cancelled");
  await expect.poll(() => processesWith(marker), { timeout: 5000 }).toEqual([]);
});

test("tasks run side by side, and one undo takes back what they wrote", async () => {
  // Each command waits for the other's mark.
  const meet = `mkdir -p met && touch met/$$ && for i in $(seq 100); do [ $(ls met | wc -l) -ge 2 ] && exit 0; sleep 0.1; done; exit 1`;
  const { server, id } = await withHelper([[{ call: "Bash", args: { command: meet } }]], { tasks: 2 });
  const frames = await server.all(`/sessions/${id}/events`);
  const nested = frames.filter(({ event }) => event === "task_event").map(({ data }) => data.metadata);
  expect(new Set(nested.map(({ call_id }) => call_id)).size).toBe(2);
  const results = nested.filter(({ event }) => event.type === "tool_result");
  expect(results.map(({ event }) => event.metadata.success)).toEqual([true, true]);
  expect(existsSync(join(server.program.cwd, "met"))).toBe(true);
  expect((await server.ask(`POST /sessions/${id}/undo`, { body: {} })).body).toMatchObject({ conflicts: [] });
  expect(existsSync(join(server.program.cwd, "met"))).toBe(false);
});

test("a turn and its tasks have one budget of steps, whatever the agent of the tasks says", async () => {
  const options = { tasks: 2, args: ["--max-steps", "5"] };
  const { server, id } = await withHelper([[READ], [READ], [READ], [READ]], options);
  const frames = await server.all(`/sessions/${id}/events`);
  const steps = frames.filter(({ data }) => data.metadata?.event?.type === "tool_call").length;
  expect(steps).toBe(4);
  expect(frames.findLast(({ event }) => event === "agent_result")?.data.metadata).toMatchObject({
    success: false,
    error: "the limit of 5 steps is reached",
  });
});

test("a turn and its tasks have one budget of dollars, and ask once when it is spent", async () => {
  const options = { tasks: 2, args: ["--max-cost", "2.5"], price: { input: 1, output: 1 } };
  const spend = [MILLION, READ];
  const { server, id } = await withHelper([spend, spend, spend, spend], options);
  const frames = await until(
    server.frames(`/sessions/${id}/events`),
    ({ event }) => event === "permission_request" || event === "agent_result",
  );
  const { permission_id, args } = frames.at(-1)!.data.metadata;
  expect(args).toEqual({ spent_usd: 3, limit_usd: 2.5 });
  const path = `POST /sessions/${id}/permissions/${permission_id}`;
  expect((await server.ask(path, { body: { decision: "deny" } })).status).toBe(200);
  const all = await server.all(`/sessions/${id}/events`);
  expect(all.filter(({ event }) => event === "permission_request")).toHaveLength(1);
  expect(all.findLast(({ event }) => event === "usage")?.data.metadata).toMatchObject({ total_usd: 3, input: 3e6 });
  const results = all.filter(({ event }) => event === "tool_result").map(({ data }) => data.metadata);
  expect(results.filter(({ error }) => error === "the cost limit is reached")).toHaveLength(2);
});
