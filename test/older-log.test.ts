// Sessions that another program left in the same directory, a file per event, or that lost most of their summary.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startEditor } from "./editor.js";
import { scratchTree } from "./scratch.js";
import { startServer } from "./server.js";
import { upstreamLog } from "./upstream-log.js";

const WHOLE = "otter-20260425T120300-aaaa1111";
const BARE = "otter-20260425T130300-bbbb2222";

/** The first as written by others; the second says hardly anything. */
function older() {
  const home = scratchTree({});
  const cwd = scratchTree({ "README.md": "hello" });
  const put = (id: string, files: Record<string, object>) => {
    mkdirSync(join(home, "eventlog", id), { recursive: true });
    for (const [name, body] of Object.entries(files))
      writeFileSync(join(home, "eventlog", id, name), JSON.stringify(body));
  };
  put(WHOLE, upstreamLog(WHOLE, cwd));
  put(BARE, { "summary.json": { v: 1, prompt: "who knows" } });
  return { cwd, home };
}

test("over HTTP each is a row with every field, and its records are shown unchanged", async () => {
  const { ask } = await startServer([], {}, older());
  const { body } = await ask("GET /sessions");
  expect(body.sessions.find((row: { session_id: string }) => row.session_id === WHOLE)).toMatchObject({
    state: "persisted",
    status: "idle",
    started_at: "2026-04-25T12:03:00Z",
    ended_at: "2026-04-25T12:03:30Z",
    model: "offline",
    prompt: "do the thing",
    title: null,
    success: true,
    cost_usd: 0.07,
    steps: 4,
    tool_calls: 3,
  });
  expect(body.sessions.find((row: { session_id: string }) => row.session_id === BARE)).toEqual({
    session_id: BARE,
    state: "persisted",
    status: "idle",
    permissions: [],
    questions: [],
    engine: "chimera",
    owner: null,
    shared: false,
    working_dir: null,
    created_at: Date.UTC(2026, 3, 25, 13, 3) / 1000,
    last_touched: expect.any(Number),
    created: "2026-04-25T13:03:00.000Z",
    updated: expect.stringMatching(/Z$/),
    event_count: null,
    started_at: "2026-04-25T13:03:00Z",
    ended_at: null,
    model: null,
    prompt: "who knows",
    title: null,
    success: null,
    cost_usd: 0,
    steps: 0,
    tool_calls: 0,
  });
  expect((await ask(`GET /sessions/${WHOLE}`)).body).toMatchObject({
    summary: { run_id: WHOLE },
    events: [{ metadata: { content: "do the thing" } }, { type: "tool_call" }, { type: "agent_result" }],
  });
  expect((await ask(`GET /runs/${WHOLE}`)).body).toMatchObject({ status: "completed", error: null });
  expect((await ask(`GET /sessions/${BARE}`)).body).toMatchObject({ step_count: 0, event_count: 0, events: [] });
  const refused = await ask(`POST /sessions/${BARE}/turns`, { body: { prompt: "go on" } });
  expect(refused).toMatchObject({ status: 400, body: { message: `the summary of session ${BARE} has no directory` } });
});

test("an editor lists it, gets the conversation and continues it; no turn counts as cut short", async () => {
  const surroundings = older();
  const editor = await startEditor(surroundings);
  const list = await editor.request("session/list", {});
  expect(list.result.sessions).toEqual([
    {
      sessionId: WHOLE,
      cwd: surroundings.cwd,
      title: "do the thing",
      updatedAt: expect.any(String),
      _meta: { "chimera.dev/state": "idle" },
    },
  ]);
  const load = await editor.request("session/load", { sessionId: WHOLE, cwd: surroundings.cwd, mcpServers: [] });
  expect(load.error).toBeUndefined();
  const said = editor.frames
    .filter((frame) => frame.method === "session/update")
    .map(({ params }) => params.update)
    .filter((update) => update.content)
    .map((update) => [update.sessionUpdate, update.content.text]);
  expect(said).toEqual([
    ["user_message_chunk", "do the thing"],
    ["agent_message_chunk", "did it"],
  ]);
  const replay = await editor.request("_chimera.dev/session/replay", { sessionId: WHOLE, sinceEventId: 0 });
  expect(replay).toMatchObject({ result: { replayed: 1 } });
  const { result } = await editor.prompt(WHOLE, "list files");
  expect(result.stopReason).toBe("end_turn");
  const server = await startServer([], {}, { ...surroundings, home: surroundings.home });
  const { body } = await server.ask(`GET /sessions/${WHOLE}`);
  expect(body.events.slice(0, 5).map(({ type }: { type: string }) => type)).toEqual([
    "user_message",
    "tool_call",
    "agent_result",
    "user_message",
    "turn_start",
  ]);
  expect(body.events[3]).toMatchObject({ turn: 1, metadata: { prompt: "msg-1" } });
  expect(body.summary).toMatchObject({
    prompt: "do the thing",
    turns: 2,
    steps: 6,
    tool_calls_total: 4,
    cost_usd: 0.07,
    success: true,
  });
});

test("the native dialect lists, loads and resumes it", async () => {
  const surroundings = older();
  const editor = await startEditor({ ...surroundings, args: ["--acp-dialect", "otter"] });
  const list = await editor.request("session/list", {});
  expect(list.result.sessions).toContainEqual({
    sessionId: WHOLE,
    cwd: surroundings.cwd,
    title: null,
    updatedAt: expect.any(String),
    model: "offline",
    state: null,
  });
  const load = await editor.request("session/load", { sessionId: WHOLE });
  expect(load.result).toMatchObject({ sessionId: WHOLE, state: "idle" });
  const resumed = await editor.request("session/resume", { sessionId: WHOLE, sinceEventId: 0 });
  expect(resumed.result).toMatchObject({ replayed: 1, lastEventId: 1 });
});
