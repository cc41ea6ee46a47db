// Custom slash commands over HTTP.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createMemoryStore } from "@chimera/event-store";
import { createApp } from "@chimera/http-server";
import { createSessions } from "@chimera/session";
import { beforeAll, describe, expect, test } from "vitest";
import { fileScope } from "./program.js";
import { scratchTree } from "./scratch.js";
import { type Server, startServer, until } from "./server.js";

const atEnd = fileScope();
const summarize = `---
description: Summarize $1 about $TARGET
args:
  - name: target
    description: subject of the summary
---
Please summarize $1 and $2, above all $TARGET.
`;
let server: Server;
let session: string;
const home = () => join(server.program.cwd, "home");
beforeAll(async () => {
  const cwd = scratchTree({ "home/.opencode/.keep": "" }, atEnd);
  server = await startServer([], { HOME: join(cwd, "home") }, { atEnd, cwd });
  session = (await server.ask("POST /session", { body: {} })).body.session_id;
});
const put = (path: string, text: string) => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};
const project = (name: string) => join(server.program.cwd, ".opencode/command", `${name}.md`);
const user = (name: string) => join(home(), ".opencode/command", `${name}.md`);
const list = async () => (await server.ask("GET /commands")).body.commands;
const invoke = (name: string, body: object) =>
  server.ask(`POST /commands/${name}/invoke`, { body: { session_id: session, ...body } });

test("none is an empty list; a file that appears is a command at once", async () => {
  expect(await server.ask("GET /commands")).toMatchObject({ status: 200, body: { commands: [] } });
  put(user("summarize"), summarize);
  expect(await list()).toEqual([
    {
      name: "summarize",
      description: "Summarize $1 about $TARGET",
      args: [{ name: "target", description: "subject of the summary" }],
      source: user("summarize"),
    },
  ]);
});

test("a project's command stands before a user's of the same name", async () => {
  put(user("both"), "the user's");
  put(project("both"), "the project's");
  expect(await list()).toContainEqual(expect.objectContaining({ name: "both", source: project("both") }));
  expect((await invoke("both", {})).body.rendered).toBe("the project's");
});

test("the text of a template is never a command", async () => {
  put(project("wolf"), "/mode auto");
  const { body } = await invoke("wolf", {});
  const frames = await until(
    server.frames(`/session/${session}/events`),
    ({ event, data }) => event === "result" && data.message_id === body.message_id,
  );
  expect(JSON.stringify(frames)).toContain("offline interpreter");
  expect(JSON.stringify(frames)).not.toContain("review -> auto");
});

describe("an invocation", () => {
  test("renders the template and runs it as a turn", async () => {
    put(user("summarize"), summarize);
    const { status, body } = await invoke("summarize", { args: ["one", "two"], kwargs: { target: "otters" } });
    expect(status).toBe(202);
    const rendered = "Please summarize one and two, above all otters.";
    expect(body).toEqual({
      message_id: expect.stringMatching(/^msg-\d+$/),
      name: "summarize",
      rendered: expect.any(String),
    });
    expect(body.rendered.trim()).toBe(rendered);
    const mine = (data: { message_id?: string }) => data.message_id === body.message_id;
    const seen = (
      await until(server.frames(`/session/${session}/events`), (frame) => frame.event === "result" && mine(frame.data))
    ).filter((frame) => mine(frame.data) || frame.data.prompt === body.message_id);
    expect(seen[0]).toMatchObject({ event: "user_message" });
    expect(JSON.stringify(seen[0]?.data)).toContain(rendered);
    expect(seen.slice(1, -1).every((frame) => frame.event === "loop_event")).toBe(true);
  });

  test.each([{ TARGET: "otters" }, { target: "otters" }, { Target: "otters" }])("%j fills $TARGET", async (kwargs) => {
    put(user("summarize"), summarize);
    expect((await invoke("summarize", { args: ["a", "b"], kwargs })).body.rendered).toContain("above all otters");
  });

  const mistakes: [string, object, string, number, object][] = [
    ["no session_id", { session_id: undefined }, "both", 400, { error: "missing_session_id" }],
    ["args as an object", { args: { 1: "a" } }, "both", 400, { error: "args_must_be_list" }],
    ["args as a text", { args: "a" }, "both", 400, { error: "args_must_be_list" }],
    ["kwargs as a list", { kwargs: ["a"] }, "both", 400, { error: "kwargs_must_be_object" }],
    ["kwargs as a text", { kwargs: "a" }, "both", 400, { error: "kwargs_must_be_object" }],
    [
      "an unknown session",
      { session_id: "otter-20260101T000000-00000000" },
      "both",
      404,
      { error: "session_not_found" },
    ],
    ["an unknown command", {}, "nope", 404, { error: "command_not_found", name: "nope" }],
  ];
  test.each(mistakes)("%s", async (_what, body, name, status, reply) => {
    put(project("both"), "the project's");
    expect(await invoke(name, body)).toMatchObject({ status, body: reply });
  });

  test.each([
    ["a prompt that grows without bound", { args: ["x".repeat(100_000)] }],
    [
      "more arguments than any template has",
      { kwargs: Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, "v"])) },
    ],
  ])("%s is refused", async (_what, body) => {
    put(project("grow"), "$1 ".repeat(1000));
    expect(await invoke("grow", body)).toMatchObject({
      status: 400,
      body: { error: "command_invoke_failed", detail: expect.any(String) },
    });
  });

  test("a renderer that fails is 500 command_invoke_failed", async () => {
    const sessions = createSessions({
      agent: async function* () {},
      store: createMemoryStore(),
      prefix: "test",
      defaults: { model: "none" },
    });
    const broken = {
      name: "broken",
      description: "",
      args: [],
      source: "",
      get body(): string {
        throw new Error("gone");
      },
    };
    const palette = { custom: async () => [broken] };
    const app = createApp({ name: "test", version: "0.0.0", sessions, palette, defaultCwd: "/" });
    const { id } = await sessions.create({ cwd: "/" });
    const reply = await app.request("http://localhost/commands/broken/invoke", {
      method: "POST",
      headers: { host: "localhost", "content-type": "application/json" },
      body: JSON.stringify({ session_id: id }),
    });
    expect([reply.status, await reply.json()]).toEqual([
      500,
      {
        error: "command_invoke_failed",
        message: expect.any(String),
        detail: expect.any(String),
        request_id: expect.any(String),
      },
    ]);
  });
});
