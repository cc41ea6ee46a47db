// What is known of a model, through the built program: how hard it thinks, what it sees, what it costs.
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { startEditor } from "./editor.js";
import { type Reply, startModel } from "./model.js";
import { startProgram } from "./program.js";
import { startServer, until } from "./server.js";

const SONNET = "claude-sonnet-5-5";
const done: Reply = { parts: [{ text: "Done." }] };
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("--effort says how hard the model thinks, and a wrong one what there is", async () => {
  const model = await startModel(() => done);
  const run = async (...args: string[]) => {
    const program = startProgram("otter", ["-p", "hi", "--model", SONNET, ...args], model.env);
    program.child.stdin.end();
    return { code: await program.exited, stderr: program.stderr() };
  };
  expect(await run("--effort", "high")).toMatchObject({ code: 0 });
  expect(await run()).toMatchObject({ code: 0 });
  expect(await run("--effort", "off")).toMatchObject({ code: 0 });
  expect(model.requests.map(({ thinking, output_config }) => [thinking?.type, output_config?.effort])).toEqual([
    ["adaptive", "high"],
    ["adaptive", undefined],
    [undefined, undefined],
  ]);
  expect(await run("--effort", "utmost")).toMatchObject({ code: 2, stderr: expect.stringContaining("low, medium") });
});

test("a session made over HTTP has an effort of its own, and changes it with a command", async () => {
  const model = await startModel(() => done);
  const server = await startServer(["--model", SONNET, "--effort", "low"], model.env);
  const { id } = await server.run("hi", { effort: "high" });
  await server.run("hi");
  await server.ask(`POST /sessions/${id}/turns`, { body: { prompt: "/effort medium" } });
  await server.all(`/sessions/${id}/events`);
  await server.ask(`POST /sessions/${id}/turns`, { body: { prompt: "again" } });
  await server.all(`/sessions/${id}/events`);
  expect(model.requests.map(({ output_config }) => output_config?.effort)).toEqual(["high", "low", "medium"]);
  const refused = await server.ask("POST /sessions", { body: { prompt: "hi", effort: "utmost" } });
  expect([refused.status, refused.body.error]).toEqual([400, "invalid_body"]);
});

test("an editor, HTTP and the command line offer the same models", async () => {
  const model = await startModel(() => done);
  const editor = await startEditor({ args: ["--model", SONNET], env: model.env });
  const { configOptions } = await editor.open();
  const option = configOptions.find(({ id }: { id: string }) => id === "model");
  const offered = option.options.map(({ value }: { value: string }) => value).sort();
  expect(offered.length).toBeGreaterThan(5);
  const server = await startServer(["--model", SONNET], model.env);
  const { body } = await server.ask("GET /models");
  expect(body.models.map(({ id }: { id: string }) => id).sort()).toEqual(offered);
  const typed = startProgram("otter", ["models", "--model", SONNET], model.env);
  expect((await text(typed.child.stdout)).trim().split("\n").sort()).toEqual(offered);
});

test("an editor is offered an effort for models that think, and for no others", async () => {
  const model = await startModel(() => done);
  const editor = await startEditor({ args: ["--model", SONNET], env: model.env });
  const { sessionId, configOptions } = await editor.open();
  const effortOf = (options: { id: string }[]) => options.find(({ id }) => id === "effort");
  expect(effortOf(configOptions)).toMatchObject({ category: "thought_level", currentValue: "default" });
  const set = (configId: string, value: string) =>
    editor.request("session/set_config_option", { sessionId, configId, value });
  expect(effortOf((await set("effort", "high")).result.configOptions)).toMatchObject({ currentValue: "high" });
  await editor.prompt(sessionId, "hi");
  expect(model.requests[0].output_config).toEqual({ effort: "high" });
  expect(await set("effort", "utmost")).toMatchObject({ error: { code: -32602 } });
  expect(effortOf((await set("model", "claude-3-5-haiku")).result.configOptions)).toBeUndefined();
  expect(await set("effort", "low")).toMatchObject({ error: { code: -32602 } });
  await editor.prompt(sessionId, "hi");
  expect(model.requests[1]).not.toHaveProperty("thinking");
});

test("a picture that the model refuses is in the way of nothing, also of /compact", async () => {
  const words = "this model does not support image input";
  const pictures = (request: unknown) => JSON.stringify(request).split(PNG).length - 1;
  const model = await startModel((request) =>
    pictures(request) > 0 ? { refusal: { status: 400, message: words } } : done,
  );
  const editor = await startEditor({ args: ["--model", "claude-of-a-proxy"], env: model.env });
  const { sessionId } = await editor.open();
  const picture = [
    { type: "text", text: "What is this?" },
    { type: "image", mimeType: "image/png", data: PNG },
  ];
  for (const prompt of [picture, "And now?", "/compact", "Still there?"])
    expect((await editor.prompt(sessionId, prompt)).result).toMatchObject({ stopReason: "end_turn" });
  expect(model.requests.map(pictures)).toEqual([1, ...model.requests.slice(1).map(() => 0)]);
});

test("a cost limit with an unknown price asks the person in the editor, and continues once they allow it", async () => {
  const model = await startModel(() => done);
  const args = ["--model", "claude-of-a-proxy", "--max-cost", "1"];
  const editor = await startEditor({ args, env: model.env });
  const { sessionId } = await editor.open();
  expect((await editor.prompt(sessionId, "hi")).result).toMatchObject({ stopReason: "end_turn" });
  expect(editor.asked("session/request_permission")).toMatchObject([
    { toolCall: { title: expect.stringContaining("is not known, so the cost limit") } },
  ]);
  expect(model.requests).toHaveLength(1);
});

test("the same over HTTP, where the usage says that it has no price", async () => {
  const model = await startModel(() => done);
  const server = await startServer(["--model", "claude-of-a-proxy", "--max-cost", "1"], model.env);
  for (const [decision, sent] of [
    ["deny", 0],
    ["allow", 1],
  ] as const) {
    const { body } = await server.ask("POST /sessions", { body: { prompt: "hi" } });
    const events = `/sessions/${body.session_id}/events`;
    const asked = (await until(server.frames(events), ({ event }) => event === "permission_request")).at(-1);
    expect(asked?.data.metadata).toMatchObject({ tool: "continue_over_budget", args: { limit_usd: 1, priced: false } });
    expect(model.requests).toHaveLength(0);
    const { permission_id } = asked?.data.metadata ?? {};
    await server.ask(`POST /sessions/${body.session_id}/permissions/${permission_id}`, { body: { decision } });
    const frames = await server.all(events);
    expect(frames.find(({ event }) => event === "agent_result")?.data.metadata.success).toBe(decision === "allow");
    const usage = frames.findLast(({ event }) => event === "usage");
    expect([model.requests.length, usage?.data.metadata.priced]).toEqual([sent, sent ? false : undefined]);
  }
});
