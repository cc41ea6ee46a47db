// The run API: one prompt, answered when it is done, at once, or as it goes.
import { beforeAll, describe, expect, test } from "vitest";
import { addressOf, fileScope, startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";
import { type Server, startServer } from "./server.js";

const atEnd = fileScope();
const say = (content: string, content_type?: string) => [
  { role: "user", parts: [{ content, ...(content_type && { content_type }) }] },
];
let server: Server;
beforeAll(async () => {
  server = await startServer([], {}, { atEnd });
});
const start = (mode: string | undefined, input: unknown = say("list files")) =>
  server.ask("POST /runs", { body: { agent_name: "otter", ...(mode && { mode }), input } });
const typesOf = (events: { type: string }[]) => events.map((event) => event.type);

/** A server whose model does just this. */
async function scripted(...reply: object[]): Promise<Server> {
  const dir = scratchTree({ "script.json": { turns: [{ steps: [{ reply }] }] } });
  return startServer(["--model", `scripted:${dir}/script.json`]);
}

test("GET /ping", async () => {
  expect(await server.ask("GET /ping")).toMatchObject({ status: 200, body: { status: "ok" } });
});

test("acp --http serves it, on the interface and port asked for", async () => {
  const program = startProgram("otter", ["acp", "--http", "--host", "127.0.0.2", "--port", "0"]);
  const address = await addressOf(program);
  expect(new URL(address).hostname).toBe("127.0.0.2");
  const response = await fetch(`${address}/runs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ agent_name: "otter", mode: "sync", input: say("list files") }),
  });
  expect(await response.json()).toMatchObject({ status: "completed" });
});

test("agents are listed, and shown one by one", async () => {
  const { agents } = (await server.ask("GET /agents")).body;
  expect(agents.map((agent: { name: string }) => agent.name)).toEqual(
    expect.arrayContaining(["otter", "build", "plan"]),
  );
  expect((await server.ask("GET /agents/plan")).body).toMatchObject({ name: "plan", description: expect.any(String) });
  expect((await server.ask("GET /agents/nobody")).status).toBe(404);
});

describe("a run", () => {
  test("in mode sync answers when it is done", async () => {
    for (const type of ["text/plain", undefined]) {
      const { status, body } = await start("sync", say("list files", type));
      expect(status).toBe(200);
      expect(body).toMatchObject({ run_id: expect.any(String), agent_name: "otter", status: "completed" });
      expect(JSON.stringify(body.output)).toContain("README.md");
    }
  });

  test("in mode async answers 202 at once, and can be polled", async () => {
    const { status, body } = await start("async");
    expect(status).toBe(202);
    expect(["created", "in-progress", "completed"]).toContain(body.status);
    await expect
      .poll(async () => (await server.ask(`GET /runs/${body.run_id}`)).body.status, { timeout: 5000 })
      .toBe("completed");
    expect((await server.ask(`GET /runs/${body.run_id}`)).body.output).not.toEqual([]);
    expect((await server.ask("GET /runs/otter-20260101T000000-00000000")).status).toBe(404);
  });

  test("in mode stream sends one data line per event", async () => {
    const { headers, body } = await start("stream");
    expect(headers.get("content-type")).toMatch(/^text\/event-stream/);
    const blocks = body.trimEnd().split("\n\n");
    for (const block of blocks) expect(block).toMatch(/^data: \{.*\}$/);
    const types = typesOf(blocks.map((block: string) => JSON.parse(block.slice(6))));
    expect(types[0]).toBe("run_in_progress");
    expect(types).toContain("message_created");
    expect(types.at(-1)).toBe("run_completed");
  });

  test("keeps its whole event log", async () => {
    const { run_id } = (await start("sync")).body;
    const { events } = (await server.ask(`GET /runs/${run_id}/events`)).body;
    expect(typesOf(events)).toEqual(expect.arrayContaining(["run_in_progress", "message_created", "run_completed"]));
  });

  test("is a session, whose metadata can be read", async () => {
    const { run_id, session_id } = (await start("sync")).body;
    expect((await server.ask(`GET /sessions/${session_id ?? run_id}`)).body).toMatchObject({
      state: expect.any(String),
      step_count: expect.any(Number),
      event_count: expect.any(Number),
    });
  });

  test("is cancelled", async () => {
    const silent = await scripted({ text: "Thinking…" }, { stall: true });
    const { run_id } = (
      await silent.ask("POST /runs", { body: { agent_name: "otter", mode: "async", input: say("x") } })
    ).body;
    const { status, body } = await silent.ask(`POST /runs/${run_id}/cancel`, { body: {} });
    expect([status, body.status]).toEqual([200, "cancelled"]);
    expect(typesOf((await silent.ask(`GET /runs/${run_id}/events`)).body.events).at(-1)).toBe("run_cancelled");
  });

  test("fails when the model does", async () => {
    const broken = await scripted({ error: { code: "bad_request" } });
    const { body } = await broken.ask("POST /runs", { body: { agent_name: "otter", input: say("x") } });
    expect(body.status).toBe("failed");
    expect(typesOf((await broken.ask(`GET /runs/${body.run_id}/events`)).body.events).at(-1)).toBe("run_failed");
  });

  test("that needs an approval is denied at once, because no client can answer", async () => {
    const { status, body } = await start("sync", say("write note.txt: hello"));
    expect(status).toBe(200);
    const { events } = (await server.ask(`GET /sessions/${body.run_id}`)).body;
    const types = typesOf(events);
    expect(types).toContain("tool_result");
    expect(events.find((event: { type: string }) => event.type === "tool_result").metadata.success).toBe(false);
  });

  test.each([
    [{ mode: "sync", input: say("x") }, 400],
    [{ agent_name: "nobody", input: say("x") }, 404],
    [{ agent_name: "otter", input: [] }, 400],
    [{ agent_name: "otter", input: "x" }, 400],
    [{ agent_name: "otter", mode: "never", input: say("x") }, 400],
  ])("%j is %i", async (body, status) => {
    expect((await server.ask("POST /runs", { body })).status).toBe(status);
  });
});
