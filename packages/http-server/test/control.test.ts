import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RunEvent } from "@chimera/acp-schema/http";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { eventually, newSession, openStream, runTurn, type Served, scratch, serve } from "./fixture.js";
import { expectError, expectReply } from "./shape.js";

/** A session whose turn waits for a permission. */
async function asking(served: Served, prompt = "ask") {
  const { id, token } = await newSession(served);
  const stream = await openStream(served, `/session/${id}/events`);
  await served.call("POST", `/session/${id}/message`, { body: { text: prompt } });
  await stream.until((frames) => frames.some((frame) => frame.event === "permission_request"));
  const { data } = stream.frames.find((frame) => frame.event === "permission_request")!;
  const answered = async () => {
    await stream.until((frames) => frames.some((frame) => frame.event === "result"));
    return stream.frames.find((frame) => frame.event === "result")!.data.output as string;
  };
  return { id, token, pid: data.permission_id as string, data, answered };
}

describe("a permission", () => {
  test("is shown with its call, and the answer decides", async () => {
    const served = await serve();
    const { id, token, pid, data, answered } = await asking(served);
    expect(data).toMatchObject({ tool: "Bash", args: { command: "make" }, risk: "high" });
    const path = `/sessions/${id}/permissions/${pid}`;
    const other = { decision: "allow", shown: "0".repeat(64) };
    expectError(await served.call("POST", path, { body: other, token }), 409, "not_as_shown");
    const reply = await served.call("POST", path, { body: { decision: "allow" }, token });
    expectReply("POST /sessions/{id}/permissions/{pid}", reply);
    expect(await answered()).toBe("allow");
    expectError(await served.call("POST", path, { body: { decision: "deny" } }), 409, "already_resolved");
    const unknown = `/sessions/${id}/permissions/perm-none`;
    expectError(await served.call("POST", unknown, { body: { decision: "deny" } }), 404, "permission_not_found");
  });

  test("is answered with one of its choices and a reason; the reply has the decision", async () => {
    const served = await serve();
    const { id, pid, answered } = await asking(served, "ask choices");
    const path = `/sessions/${id}/permissions/${pid}`;
    const none = { decision: "allow", choice: "none" };
    expectError(await served.call("POST", path, { body: none }), 400, "invalid_decision");
    const body = { decision: "allow", choice: "reject_once", reason: "not on a Friday" };
    const reply = await served.call("POST", path, { body });
    expectReply("POST /sessions/{id}/permissions/{pid}", reply);
    expect(reply.body).toEqual({ resolved: true, decision: "deny" });
    expect(await answered()).toBe("deny");
    const { events } = (await served.call("GET", `/sessions/${id}`)).body;
    const resolved = events.find((event: { type: string }) => event.type === "permission_resolved");
    expect(resolved.metadata).toMatchObject({ decision: "deny", choice: "reject_once", reason: "not on a Friday" });
  });

  test("can be answered by the older route", async () => {
    const served = await serve();
    const { id, pid, answered } = await asking(served);
    const body = { session_id: id, permission_id: pid, approved: false };
    expectReply("POST /tool/approve", await served.call("POST", "/tool/approve", { body }));
    expect(await answered()).toBe("deny");
    const unknown = { session_id: id, permission_id: "none", approved: true };
    expectError(await served.call("POST", "/tool/approve", { body: unknown }), 404, "permission_not_found");
  });

  test("is answered once, however many answer at once", async () => {
    const served = await serve();
    const { id, pid } = await asking(served);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        served.call("POST", `/sessions/${id}/permissions/${pid}`, { body: { decision: "allow" } }),
      ),
    );
    expect(answers.map((answer) => answer.status).toSorted()).toEqual([200, ...Array(7).fill(409)]);
  });

  test.each(["cancel", "delete"])("that a %s releases is denied", async (how) => {
    const served = await serve();
    const { id } = await asking(served);
    if (how === "cancel") await served.call("POST", `/session/${id}/cancel`);
    else await served.call("DELETE", `/session/${id}`);
    const { body } = await served.call("GET", `/sessions/${id}`);
    const resolved = body.events.find((event: { type: string }) => event.type === "permission_resolved");
    expect(resolved.metadata).toMatchObject({ decision: "deny", by: "cancel" });
  });
});

describe("undo", () => {
  test("takes back files and messages, redo brings them back, and both have a dry run", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    const file = join(served.cwd, "note.txt");
    await runTurn(served, id, "write note.txt one");
    await runTurn(served, id, "write note.txt two");
    const act = async (what: "undo" | "redo", body: object = {}) => {
      const answer = await served.call("POST", `/sessions/${id}/${what}`, { body });
      expectReply(`POST /sessions/{id}/${what}`, answer);
      return answer.body;
    };
    expect(await act("undo", { dry_run: true })).toMatchObject({ turns: 1, remaining: 1 });
    expect(readFileSync(file, "utf8")).toBe("two");
    expect(await act("undo")).toMatchObject({ turns: 1, files: [{ path: file, outcome: "restored" }], conflicts: [] });
    expect(readFileSync(file, "utf8")).toBe("one");
    expect((await act("undo")).message).toMatch(/^\/undo: rewound 1 turn/);
    expect(existsSync(file)).toBe(false);
    await act("redo", { steps: 2 });
    expect(readFileSync(file, "utf8")).toBe("two");
    expect((await act("redo")).turns).toBe(0);
  });

  test("keeps files that somebody else has changed since, unless the request forces it", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    const file = join(served.cwd, "note.txt");
    await runTurn(served, id, "write note.txt one");
    await runTurn(served, id, "write note.txt two");
    writeFileSync(file, "mine");
    const { body } = await served.call("POST", `/sessions/${id}/undo`, { body: {} });
    expect(body.conflicts).toEqual([file]);
    expect(body.files).toEqual([{ path: file, outcome: "conflict", reason: "changed_since" }]);
    expect(readFileSync(file, "utf8")).toBe("mine");
  });

  test("is refused while a turn runs", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    await served.call("POST", `/sessions/${id}/turns`, { body: { prompt: "wait" } });
    expectError(await served.call("POST", `/sessions/${id}/undo`), 409, "turn_running");
  });

  test("works from snapshots, which can be listed and compared", async () => {
    const served = await serve();
    const { id, token } = await newSession(served);
    await runTurn(served, id, "write note.txt one");
    const list = await served.call("GET", `/sessions/${id}/snapshots`, { token });
    expectReply("GET /sessions/{id}/snapshots", list);
    const [snapshot] = list.body.snapshots;
    expect(snapshot).toMatchObject({ turn: 0, files: [{ path: join(served.cwd, "note.txt"), change: "add" }] });
    const diff = await served.call("GET", `/sessions/${id}/snapshots/${snapshot.snap_id}/diff`);
    expectReply("GET /sessions/{id}/snapshots/{snap}/diff", diff);
    expect(diff.body.files[0].diff).toContain("+one");
    for (const snap of ["none", "..%2f..%2fx", "__proto__"]) {
      expectError(await served.call("GET", `/sessions/${id}/snapshots/${snap}/diff`), 404, "snapshot_not_found");
    }
  });
});

const input = (content: string) => [{ role: "user", parts: [{ content_type: "text/plain", content }] }];

describe("a run", () => {
  const agents = async () => [{ id: "plan", description: "Plans" }];

  test("is answered when it is done, and can be read again", async () => {
    const served = await serve({ agents });
    const run = await served.call("POST", "/runs", {
      body: { agent_name: "otter", mode: "sync", input: input("say hi") },
    });
    expectReply("POST /runs", run);
    expect(run.body).toMatchObject({ status: "completed", output: [{ role: "agent", parts: [{ content: "hi" }] }] });
    const again = await served.call("GET", `/runs/${run.body.run_id}`);
    expectReply("GET /runs/{run_id}", again);
    expect(again.body).toEqual(run.body);
    const events = await served.call("GET", `/runs/${run.body.run_id}/events`);
    expectReply("GET /runs/{run_id}/events", events);
    expect(events.body.events.map((event: { type: string }) => event.type)).toEqual([
      "run_created",
      "run_in_progress",
      "message_created",
      "run_completed",
    ]);
  });

  test("does not exist before its first prompt, on any route", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/events"],
      ["POST", "/cancel"],
    ])
      expectError(await served.call(method!, `/runs/${id}${path}`), 404, "run_not_found");
  });

  test("may be started and left, and cancelled", async () => {
    const served = await serve({ agents });
    const body = { agent_name: "plan", mode: "async", input: input("wait") };
    const run = await served.call("POST", "/runs", { body });
    expectReply("POST /runs", run, 202);
    await eventually(async () => (await served.call("GET", `/runs/${run.body.run_id}`)).body.status === "in-progress");
    const cancelled = await served.call("POST", `/runs/${run.body.run_id}/cancel`);
    expectReply("POST /runs/{run_id}/cancel", cancelled);
    expect(cancelled.body).toMatchObject({ status: "cancelled", agent_name: "plan", output: [{ role: "agent" }] });
  });

  test("is cancelled only by the process that runs it, as is every turn", async () => {
    const root = scratch();
    const [runner, other] = [await serve({ agents, root }), await serve({ agents, root })];
    const body = { agent_name: "otter", mode: "async", input: input("wait") };
    const { run_id } = (await runner.call("POST", "/runs", { body })).body;
    await eventually(async () => (await runner.call("GET", `/runs/${run_id}`)).body.status === "in-progress");
    for (const family of ["runs", "sessions", "session"])
      expectError(await other.call("POST", `/${family}/${run_id}/cancel`), 409, "session_claimed");
    expect((await runner.call("POST", `/sessions/${run_id}/cancel`)).status).toBe(204);
    await eventually(async () => (await other.call("GET", `/runs/${run_id}`)).body.status === "cancelled");
  });

  test("of a loaded session is read without its log, and is the same after a restart", async () => {
    const root = scratch();
    const served = await serve({ root });
    const body = { agent_name: "otter", mode: "async", input: input("say hi") };
    const started = (await served.call("POST", "/runs", { body })).body;
    const session = served.sessions.find(started.run_id)!;
    await session.idle();
    await session.set({ agent: "plan" });
    const { logs } = served.sessions;
    let reads = 0;
    const read: typeof logs.read = (...asked) => {
      reads++;
      return logs.read(...asked);
    };
    const counting = await serve({ sessions: { ...served.sessions, logs: { ...logs, read } } });
    const run = await counting.call("GET", `/runs/${session.id}`);
    expectReply("GET /runs/{run_id}", run);
    expect(run.body).toMatchObject({ status: "completed", agent_name: "otter", created_at: started.created_at });
    expect((await counting.call("POST", `/runs/${session.id}/cancel`)).body).toEqual(run.body);
    expect(reads).toBe(0);
    await served.stop();
    expect((await (await serve({ root })).call("GET", `/runs/${session.id}`)).body).toEqual(run.body);
  });

  test("ends by itself while another prompt waits in its session", async () => {
    const served = await serve({ agents });
    const body = { agent_name: "otter", mode: "async", input: input("wait") };
    const { run_id } = (await served.call("POST", "/runs", { body })).body;
    await eventually(async () => (await served.call("GET", `/runs/${run_id}`)).body.status === "in-progress");
    await served.call("POST", `/sessions/${run_id}/turns`, { body: { prompt: "say hi" } });
    served.sessions.find(run_id)?.cancel(0);
    await eventually(async () => (await served.call("GET", `/runs/${run_id}`)).body.status === "completed");
    const { events } = (await served.call("GET", `/runs/${run_id}/events`)).body;
    const runs = events.filter((event: { type: string }) => event.type !== "message_created");
    expect(runs.map((event: { type: string }) => event.type)).toEqual([
      "run_created",
      "run_in_progress",
      "run_created",
      "run_cancelled",
      "run_in_progress",
      "run_completed",
    ]);
    expect(runs[3].run).toMatchObject({ status: "cancelled", created_at: runs[0].run.created_at });
    expect(runs[4].run).toMatchObject({ output: [], created_at: runs[2].run.created_at, finished_at: null });
  });

  test("can be streamed while it runs", async () => {
    const served = await serve({ agents });
    const answer = await served.call("POST", "/runs", {
      body: { agent_name: "otter", mode: "stream", input: input("fail") },
    });
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    const events = answer.text
      .split("\n\n")
      .filter(Boolean)
      .map((line) => v.parse(RunEvent, JSON.parse(line.replace(/^data: /, ""))));
    expect(events.map((event) => event.type)).toEqual(["run_in_progress", "run_failed"]);
    expect(events.at(-1)).toMatchObject({ run: { status: "failed", error: "the model is away" } });
  });

  test("has nobody to ask, so calls that need permission are denied at once", async () => {
    const served = await serve({ agents });
    const { body } = await served.call("POST", "/runs", { body: { agent_name: "otter", input: input("ask") } });
    expect(body).toMatchObject({ status: "completed", output: [{ parts: [{ content: "deny" }] }] });
  });

  test("needs an agent that exists", async () => {
    const served = await serve({ agents });
    const listed = await served.call("GET", "/agents");
    expectReply("GET /agents", listed);
    expect(listed.body.agents.map((agent: { name: string }) => agent.name)).toEqual(["otter", "plan"]);
    expectReply("GET /agents/{name}", await served.call("GET", "/agents/plan"));
    expectError(await served.call("GET", "/agents/nobody"), 404, "agent_not_found");
    const body = { agent_name: "nobody", input: input("x") };
    expectError(await served.call("POST", "/runs", { body }), 404, "agent_not_found");
    for (const id of ["otter-20260101T000000-00000000", "nope", "..%2f..", "%00"]) {
      expectError(await served.call("GET", `/runs/${id}`), 404, "run_not_found");
      expectError(await served.call("GET", `/runs/${id}/events`), 404, "run_not_found");
      expectError(await served.call("POST", `/runs/${id}/cancel`), 404, "run_not_found");
    }
  });
});

describe("the server about itself", () => {
  const tools = () => [{ name: "Read", description: "Reads", input_schema: { type: "object" } }];
  const providers = () => ({
    active: { provider: "offline", model: "offline" },
    available: [{ name: "offline", configured: true }],
  });

  test("describes its version, model and tools", async () => {
    const served = await serve({ tools, providers });
    for (const path of ["/health", "/healthz", "/ping", "/info", "/providers", "/tools"] as const) {
      expectReply(`GET ${path}`, await served.call("GET", path));
    }
    expect((await served.call("GET", "/info")).body).toEqual({
      version: "1.2.3",
      model: "offline",
      provider: "offline",
      tools: ["Read"],
      cwd: served.cwd,
    });
  });

  test("describes every route it has", async () => {
    const served = await serve();
    const { body } = await served.call("GET", "/openapi.json");
    expect(body).toMatchObject({ openapi: "3.1.0", info: { title: "otter", version: "1.2.3" } });
    const described = Object.entries(body.paths).flatMap(([path, methods]) =>
      Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const registered = served.app.routes
      .filter((route) => route.path !== "/*")
      .map((route) => `${route.method} ${route.path.replace(/:(\w+)/g, "{$1}")}`);
    expect(described.toSorted()).toEqual(registered.toSorted());
    const references = JSON.stringify(body).matchAll(/"#\/components\/schemas\/(\w+)"/g);
    for (const [, name] of references) expect(body.components.schemas).toHaveProperty(name!);
  });
});
