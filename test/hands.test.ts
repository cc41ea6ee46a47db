// The tools that wait or keep running (jobs, questions, tasks, pages, skills), killed in the middle of each; and the cost of all tools in a request.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { processesWith } from "./clients/processes.js";
import { startModel } from "./model.js";
import { scratchTree } from "./scratch.js";
import { type SseFrame, startServer, until } from "./server.js";

const SKILL = "---\nname: greet\ndescription: How to greet\n---\nSay hello.\n";
const HELPER = "---\nmode: subagent\n---\nHelp.\n";
const started = (frame: SseFrame) => frame.event === "tool_call";

interface Case {
  readonly what: string;
  /** The reply of the model that is interrupted; the text is a mark that its processes carry. */
  readonly reply: (mark: string) => object;
  /** The record after which the program is killed. */
  readonly at: (frame: SseFrame) => boolean;
}

const CASES: readonly Case[] = [
  {
    what: "a job that reads its input",
    reply: (mark) => ({
      call: "Bash",
      args: { command: `echo on; setsid sleep ${mark} & cat; sleep ${mark}`, background: true },
    }),
    at: ({ event }) => event === "job_started",
  },
  {
    what: "a question",
    reply: () => ({ call: "ask", args: { question: "Which one?", options: ["red", "blue"] } }),
    at: ({ event }) => event === "question_asked",
  },
  {
    what: "a task whose command runs",
    reply: () => ({ call: "task", args: { prompt: "Look at it", agent: "helper" } }),
    at: ({ event, data }) => event === "task_event" && data.metadata.event.type === "tool_call",
  },
  { what: "a fetch", reply: () => ({ call: "web_fetch", args: { url: "https://example.com/" } }), at: started },
  { what: "the reading of a skill", reply: () => ({ call: "skill", args: { name: "greet" } }), at: started },
];

test.each(CASES)(
  "kill -9 in the middle of $what: nothing runs on, the log is whole, the conversation goes on",
  {
    tags: ["needs-linux"],
  },
  async ({ reply, at }) => {
    const mark = `9${Date.now()}`;
    const again = { steps: [{ reply: [{ text: "As good as new." }] }] };
    const files = scratchTree({
      "outer.json": { turns: [{ steps: [{ reply: [reply(mark)] }, { reply: [{ text: "Done." }] }] }, again] },
      "inner.json": { turns: [{ steps: [{ reply: [{ call: "Bash", args: { command: `sleep ${mark}` } }] }] }] },
    });
    const args = ["--model", `scripted:${join(files, "outer.json")}`, "--mode", "auto"];
    const server = await startServer(args);
    const { cwd, home } = server.program;
    mkdirSync(join(cwd, ".chimera/skills/greet"), { recursive: true });
    mkdirSync(join(cwd, ".chimera/agent"), { recursive: true });
    writeFileSync(join(cwd, ".chimera/skills/greet/SKILL.md"), SKILL);
    writeFileSync(
      join(cwd, ".chimera/agent/helper.md"),
      HELPER.replace("subagent", `subagent\nmodel: scripted:${join(files, "inner.json")}`),
    );
    const { body } = await server.ask("POST /sessions", { body: { prompt: "go" } });
    const path = `/sessions/${body.session_id}`;
    const seen = await until(server.frames(`${path}/events?until=never`), at);
    server.program.child.kill("SIGKILL");
    await server.program.exited;
    await expect.poll(() => processesWith(mark), { timeout: 10_000 }).toEqual([]);

    const next = await startServer(args, {}, { cwd, home });
    await next.ask(`POST ${path}/turns`, { body: { prompt: "again" } });
    const all = (await next.all(`${path}/events`)).filter(({ id }) => id !== undefined);
    expect(all.map(({ id }) => id)).toEqual(all.map((_frame, index) => index + 1));
    expect(all.slice(0, seen.length).map(({ event }) => event)).toEqual(seen.map(({ event }) => event));
    const ends = all.filter(({ event }) => event === "agent_result").map(({ data }) => data.metadata);
    expect(ends.at(-1)).toMatchObject({ success: true, output: "As good as new." });
    const count = (type: string) => all.filter(({ event }) => event === type).length;
    expect(count("tool_result")).toBe(count("tool_call"));
    expect(count("question_answered")).toBe(count("question_asked"));
    expect(count("job_ended")).toBe(count("job_started"));
    expect((await next.ask(`GET ${path}/questions`)).body.questions).toEqual([]);
  },
);

test("the definitions of all tools together stay below 8 KB in a request", async () => {
  const model = await startModel(() => ({ parts: [{ text: "Hello." }] }));
  const server = await startServer(["--model", "claude-sonnet-4-5"], model.env);
  const skill = join(server.program.cwd, ".claude/skills/greet");
  mkdirSync(skill, { recursive: true });
  writeFileSync(join(skill, "SKILL.md"), SKILL);
  await server.run("go");
  const { tools } = model.requests[0];
  const names = tools.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(["Bash", "job", "ask", "task", "skill", "web_fetch", "Edit"]));
  expect(JSON.stringify(tools).length).toBeLessThan(8 * 1024);
});
