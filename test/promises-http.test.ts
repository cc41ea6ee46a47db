// The REST surface of `otter serve`: sessions made, listed, read, extended and cancelled.
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { fileScope } from "./program.js";
import { scratchTree } from "./scratch.js";
import { type Server, startServer, until } from "./server.js";

const atEnd = fileScope();
const isoSeconds = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
const journal = ({ home }: { home: string }) => readdirSync(join(home, "eventlog"));

let server: Server;
beforeAll(async () => {
  server = await startServer([], {}, { atEnd });
});

describe("what the server says about itself", () => {
  test("/info", async () => {
    const { status, headers, body } = await server.ask("GET /info");
    expect(status).toBe(200);
    expect(headers.get("content-type")).toContain("application/json");
    expect(body).toEqual({
      version: expect.any(String),
      model: "offline",
      provider: "offline",
      tools: expect.arrayContaining(["Read", "Write", "Edit", "Bash", "search", "list_files"]),
      cwd: server.program.cwd,
    });
  });

  test("/providers tells which are configured", async () => {
    const { body } = await server.ask("GET /providers");
    expect(body.active).toEqual({ provider: "offline", model: "offline" });
    const configured = Object.fromEntries(
      body.available.map((row: { name: string; configured: boolean }) => [row.name, row.configured]),
    );
    expect(configured).toMatchObject({ anthropic: false, openai: false, offline: true });
  });

  test("/tools gives a name, a description and a JSON schema each", async () => {
    const { tools } = (await server.ask("GET /tools")).body;
    expect(tools.map((tool: { name: string }) => tool.name)).toContain("Bash");
    for (const tool of tools) {
      expect(tool).toEqual({
        name: expect.any(String),
        description: expect.stringMatching(/./),
        input_schema: expect.objectContaining({ type: "object" }),
      });
    }
  });

  test("both name the tools that a session gets: no editor's terminal, and what --allowed-tools leaves", async () => {
    const narrow = await startServer(["--allowed-tools", "Read,Grep,bash,acp_terminal"]);
    const named = async ({ ask }: typeof narrow) => {
      const { tools } = (await ask("GET /tools")).body;
      expect((await ask("GET /info")).body.tools).toEqual(tools.map((tool: { name: string }) => tool.name));
      return (await ask("GET /info")).body.tools;
    };
    expect(await named(server)).not.toContain("acp_terminal");
    expect(await named(narrow)).toEqual(["Read", "Bash", "search"]);
  });
});

describe("one session", () => {
  let id: string;
  beforeAll(async () => {
    ({ id } = await server.run("list files and read README"));
  });

  test("its id is the name of its directory", () => {
    expect(id).toMatch(/^otter-\d{8}T\d{6}-[0-9a-f]{8}$/);
    expect(journal(server.program)).toContain(id);
  });

  test("it is read whole: summary and every event", async () => {
    const { status, body } = await server.ask(`GET /sessions/${id}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      session_id: id,
      summary: { session_id: id, prompt: "list files and read README", success: true, started_at: isoSeconds },
    });
    const seqs = body.events.map((event: { seq: number }) => event.seq);
    expect(seqs).toEqual(seqs.map((_: number, index: number) => index + 1));
    expect(body.events.at(-1)).toMatchObject({ type: "agent_result", ts: isoSeconds });
  });

  test("the same answer carries its state and counts", async () => {
    const { body } = await server.ask(`GET /sessions/${id}`);
    expect(body).toMatchObject({ state: "idle", step_count: body.summary.steps, event_count: body.events.length });
  });

  test("the list has it, with the fields of both descriptions", async () => {
    const { body } = await server.ask("GET /sessions");
    expect(body.sessions[0]).toMatchObject({
      session_id: id,
      started_at: isoSeconds,
      ended_at: isoSeconds,
      model: "offline",
      prompt: "list files and read README",
      success: true,
      cost_usd: 0,
      steps: expect.any(Number),
      tool_calls: 2,
      working_dir: server.program.cwd,
      created_at: expect.any(Number),
      last_touched: expect.any(Number),
      event_count: expect.any(Number),
    });
  });

  test("GET /session gives the bare ids", async () => {
    expect((await server.ask("GET /session")).body.sessions).toContain(id);
  });

  test("a further turn is accepted and answers as creation does", async () => {
    const { status, body } = await server.ask(`POST /sessions/${id}/turns`, { body: { prompt: "list files" } });
    expect(status).toBe(202);
    expect(body).toEqual({ session_id: id, status: "running", message_id: "msg-1" });
    const frames = await server.all(`/sessions/${id}/events`);
    expect(frames.filter((frame) => frame.event === "agent_result")).toHaveLength(2);
  });
});

describe("a session that does not exist", () => {
  test.each([
    ["GET", "GET /sessions/otter-20260101T000000-00000000", undefined],
    ["a hostile id", "GET /sessions/..%2f..%2fetc", undefined],
    ["turns", "POST /sessions/otter-20260101T000000-00000000/turns", { prompt: "x" }],
    ["cancel", "POST /sessions/otter-20260101T000000-00000000/cancel", {}],
    ["events", "GET /sessions/otter-20260101T000000-00000000/events", undefined],
    ["rotate-token", "POST /session/otter-20260101T000000-00000000/rotate-token", {}],
    ["DELETE", "DELETE /session/otter-20260101T000000-00000000", undefined],
  ])("%s is 404 session_not_found", async (_what, route, body) => {
    const answer = await server.ask(route, body === undefined ? {} : { body });
    expect(answer).toMatchObject({ status: 404, body: { error: "session_not_found" } });
  });
});

describe("creation", () => {
  test.each([{}, { prompt: "" }, { prompt: 5 }, { prompt: null }])("%j is 400 missing_prompt", async (body) => {
    expect(await server.ask("POST /sessions", { body })).toMatchObject({
      status: 400,
      body: { error: "missing_prompt" },
    });
  });

  test("an unknown tool is refused by name", async () => {
    const make = (...allowed_tools: string[]) => server.ask("POST /sessions", { body: { prompt: "x", allowed_tools } });
    expect(await make("Read", "Nope")).toMatchObject({
      status: 400,
      body: { error: "invalid_setting", message: expect.stringMatching(/^Unknown tool "Nope"\. Valid: Read/) },
    });
    for (const known of ["read_file", "BASH", "Grep", "mcp__any__tool"])
      expect(await make(known)).toMatchObject({ status: 201 });
  });

  test("a session gets no tool that the program was not started with", async () => {
    const narrow = await startServer(["--allowed-tools", "Read,mcp__files__list"]);
    const make = (tool: string) => narrow.ask("POST /sessions", { body: { prompt: "x", allowed_tools: [tool] } });
    for (const beyond of ["Bash", "write_file", "mcp__files__delete"])
      expect(await make(beyond)).toMatchObject({ status: 400, body: { error: "invalid_setting" } });
    for (const within of ["read_file", "MCP__files__list"]) expect(await make(within)).toMatchObject({ status: 201 });
  });

  test("cwd, model, max_steps and allowed_tools hold for that session alone", async () => {
    const cwd = scratchTree({ "elsewhere.txt": "found me\n" });
    const script = scratchTree({ "hello.json": { turns: [{ steps: [{ reply: [{ text: "Scripted." }] }] }] } });
    const model = `scripted:${script}/hello.json`;
    const show = async (id: string) => (await server.ask(`GET /sessions/${id}`)).body.summary;

    const elsewhere = await server.run("read elsewhere.txt", { cwd, allowed_tools: ["list_files"] });
    expect(await show(elsewhere.id)).toEqual({
      ...summaryOf(elsewhere.id, { prompt: "read elsewhere.txt", cwd, steps: 1, tool_calls_total: 0 }),
      bounds: { allowedTools: ["list_files"] },
    });
    expect(JSON.stringify(elsewhere.frames)).not.toContain("found me");

    const short = await server.run("list files and read README", { max_steps: 1 });
    expect(await show(short.id)).toEqual({
      ...summaryOf(short.id, { prompt: "list files and read README", cwd: server.program.cwd, steps: 1 }),
      tool_calls_total: 1,
      success: false,
      error: "the limit of 1 steps is reached",
      bounds: { maxSteps: 1 },
    });

    const scripted = await server.run("hello", { model });
    expect(await show(scripted.id)).toEqual(
      summaryOf(scripted.id, { prompt: "hello", model, cwd: server.program.cwd, steps: 1, tool_calls_total: 0 }),
    );
    expect(scripted.frames.at(-2)?.data.metadata.output).toBe("Scripted.");

    const usual = await server.run("read README.md");
    expect(await show(usual.id)).toEqual(
      summaryOf(usual.id, { prompt: "read README.md", cwd: server.program.cwd, steps: 2, tool_calls_total: 1 }),
    );
  });

  test("persist: false leaves nothing in the journal, and the session still streams", async () => {
    const { id, frames } = await server.run("list files", { persist: false });
    expect(frames.at(-1)).toMatchObject({ event: "end", data: { session_id: id, success: true } });
    expect(journal(server.program)).not.toContain(id);
  });
});

describe("cancel", () => {
  test("is 204, and the turn's events end with cancelled", async () => {
    const { body } = await server.ask("POST /sessions", { body: { prompt: "write note.txt: hello" } });
    const events = `/sessions/${body.session_id}/events`;
    await until(server.frames(events), (frame) => frame.event === "permission_request");
    const { status } = await server.ask(`POST /sessions/${body.session_id}/cancel`, { body: {} });
    expect(status).toBe(204);
    const frames = await server.all(events);
    expect(frames.at(-2)).toMatchObject({ event: "cancelled", data: { type: "cancelled" } });
    expect(frames.at(-1)).toEqual({ event: "end", data: { session_id: body.session_id, success: false } });
  });

  test("without a body too", async () => {
    const { id } = await server.run("list files");
    expect((await server.ask(`POST /sessions/${id}/cancel`)).status).toBe(204);
  });
});

describe("the list's filters", () => {
  let many: Server;
  beforeAll(async () => {
    const old = Array.from({ length: 23 }, (_, index) => summaryOf(index));
    const files = Object.fromEntries(old.map((row) => [`eventlog/${row.session_id}/summary.json`, row]));
    many = await startServer([], {}, { atEnd, home: scratchTree(files, atEnd) });
  });
  const rows = async (query: string) => (await many.ask(`GET /sessions${query}`)).body.sessions as { model: string }[];

  test("20 rows by default, or as many as asked", async () => {
    expect(await rows("")).toHaveLength(20);
    expect(await rows("?limit=3")).toHaveLength(3);
    expect(await rows("?limit=100")).toHaveLength(23);
  });

  test("the exact model", async () => {
    expect(new Set((await rows("?limit=100&model=glm-5.1")).map((row) => row.model))).toEqual(new Set(["glm-5.1"]));
    expect(await rows("?model=glm")).toEqual([]);
  });

  test.each([
    ["2d", 2],
    ["49h", 3],
    [new Date(Date.now() - 3.5 * 86_400_000).toISOString(), 4],
  ])("since=%s", async (since, count) => {
    expect(await rows(`?limit=100&since=${encodeURIComponent(since)}`)).toHaveLength(count);
  });

  /** One session a day, each half an hour after the full day, back from now. */
  function summaryOf(day: number) {
    const at = new Date(Date.now() - day * 86_400_000 - 1_800_000);
    const stamp = at.toISOString().slice(0, 19).replaceAll(/[-:]/g, "");
    return {
      v: 1,
      session_id: `otter-${stamp}-${day.toString(16).padStart(8, "0")}`,
      run_id: `otter-${stamp}-${day.toString(16).padStart(8, "0")}`,
      agent: "otter",
      cwd: "/tmp",
      directories: [],
      prompt: `prompt ${day}`,
      title: null,
      model: day % 2 ? "glm-5.1" : "glm-5.1-air",
      started_at: at.toISOString(),
      ended_at: at.toISOString(),
      success: true,
      error: null,
      steps: 1,
      turns: 1,
      tool_calls_total: 0,
      cost_usd: 0,
      total_tokens: 0,
      input_tokens: 0,
      output_tokens: 0,
      cache_tokens: 0,
    };
  }
});

test("the documented walk: open, stream, inspect, with the token of the environment", async () => {
  const walk = await startServer([], { OTTER_SERVER_TOKEN: "dev-secret" }, { token: "dev-secret" });
  const opened = await walk.ask("POST /sessions", { body: { prompt: "list files and read README" } });
  const id = opened.body.session_id;
  expect([opened.status, opened.body]).toEqual([
    201,
    {
      session_id: expect.stringMatching(/^otter-\d{8}T\d{6}-[0-9a-f]{8}$/),
      status: "running",
      session_token: expect.stringMatching(/^[\w-]{43}$/),
    },
  ]);

  const frames = await walk.all(`/sessions/${id}/events`);
  const records = frames.slice(0, -1);
  expect(records.map((frame) => frame.id)).toEqual(records.map((_, index) => index + 1));
  for (const { id: seq, event, data } of records) {
    const id = expect.stringMatching(/^evt-[0-9a-f]{8}$/);
    expect(data).toEqual({ seq, id, type: event, turn: 0, metadata: expect.any(Object), ts: isoSeconds });
  }
  const step = (...inside: string[]) => ["step_start", ...inside, "step_end"];
  expect(records.map((frame) => frame.event)).toEqual([
    ...["user_message", "turn_start"],
    ...step("text_delta", "tool_call", "plan", "tool_update", "tool_result", "plan"),
    ...step("tool_call", "plan", "tool_update", "file_open", "tool_result", "plan"),
    // Its first words are shown before the rest is taken.
    ...step("text_delta", "text_delta"),
    ...["turn_end", "title_changed", "agent_result"],
  ]);
  expect(frames.at(-1)).toEqual({ event: "end", data: { session_id: id, success: true } });

  const inspected = await walk.ask(`GET /sessions/${id}`);
  const facts = { prompt: "list files and read README", cwd: walk.program.cwd, steps: 3, tool_calls_total: 2 };
  expect([inspected.status, inspected.body]).toEqual([
    200,
    {
      session_id: id,
      state: "idle",
      status: "idle",
      step_count: 3,
      event_count: records.length,
      summary: summaryOf(id, facts),
      events: records.map((frame) => frame.data),
    },
  ]);
});

const withCurl = { tags: ["needs-curl", "needs-jq"] };

test("as pasted into a shell, with curl and jq", withCurl, async () => {
  const walk = await startServer([], { OTTER_SERVER_TOKEN: "dev-secret" }, { token: "dev-secret" });
  const script = `
    SID=$(curl -s -X POST http://127.0.0.1:5173/sessions \\
      -H "Authorization: Bearer dev-secret" \\
      -H "Content-Type: application/json" \\
      -d '{"prompt": "list files and read README"}' \\
      | jq -r '.session_id')
    echo "$SID"
    curl -N \\
      -H "Authorization: Bearer dev-secret" \\
      -H "Accept: text/event-stream" \\
      http://127.0.0.1:5173/sessions/"$SID"/events
    echo
    curl -s -H "Authorization: Bearer dev-secret" \\
      http://127.0.0.1:5173/sessions/"$SID" | jq .summary
  `.replaceAll("http://127.0.0.1:5173", walk.address);
  const { stdout } = await promisify(execFile)("sh", ["-euc", script]);
  const [, id = "", stream = "", summary = ""] = /^(otter-\S+)\n([\s\S]*?\n)\n+(\{\n[\s\S]*)$/.exec(stdout) ?? [];
  const ids = [...stream.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));
  expect(ids).toEqual(ids.map((_, index) => index + 1));
  expect(stream).toMatch(/^event: agent_result$/m);
  expect(stream.trimEnd()).toMatch(new RegExp(`event: end\ndata: .*"session_id":"${id}","success":true\\}$`));
  const facts = { prompt: "list files and read README", cwd: walk.program.cwd, steps: 3, tool_calls_total: 2 };
  expect(JSON.parse(summary)).toEqual(summaryOf(id, facts));
});

/** The whole description of a session that ran offline and ended well. */
function summaryOf(id: string, facts: object) {
  return {
    v: 2,
    session_id: id,
    run_id: id,
    started_at: isoSeconds,
    ended_at: isoSeconds,
    model: "offline",
    directories: [],
    agent: "otter",
    turns: 1,
    state: "idle",
    success: true,
    cost_usd: 0,
    total_tokens: expect.any(Number),
    input_tokens: expect.any(Number),
    output_tokens: expect.any(Number),
    cache_tokens: expect.any(Number),
    error: null,
    title: expect.any(String),
    ...facts,
  };
}
