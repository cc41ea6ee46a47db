// Streams of a session's log: cursors, both families, many readers.
import { beforeAll, describe, expect, test } from "vitest";
import { fileScope } from "./program.js";
import { type Server, type SseFrame, startServer, until } from "./server.js";

const atEnd = fileScope();
let server: Server;
let id: string;
let whole: SseFrame[];
beforeAll(async () => {
  server = await startServer([], {}, { atEnd });
  ({ id, frames: whole } = await server.run("list files and read README"));
});
const idsOf = (frames: SseFrame[]) => frames.flatMap((frame) => frame.id ?? []);
const isResult = (frame: SseFrame) => frame.event === "agent_result" || frame.event === "result";

const cursors: [what: string, headers: Record<string, string>, query: string][] = [
  ["0", { "last-event-id": "0" }, ""],
  ["a word", { "last-event-id": "soon" }, ""],
  ["a blank", { "last-event-id": " " }, ""],
  ["a fraction", { "last-event-id": "1.5" }, ""],
  ["a cursor in the query", {}, "?last-event-id=5&lastEventId=5&Last-Event-ID=5"],
  ["a cursor in a cookie", { cookie: "Last-Event-ID=5; lastEventId=5" }, ""],
];
test.each(cursors)("%s replays everything", async (_what, headers, query) => {
  expect(await server.all(`/sessions/${id}/events${query}`, { headers })).toEqual(whole);
});

test.each([
  ["a cursor past the end", { "last-event-id": "9999" }, ""],
  ["from=live", {}, "?from=live"],
])("%s replays nothing and delivers what comes", async (_what, headers: Record<string, string>, query) => {
  const live = await server.run("list files");
  const stream = server.frames(`/sessions/${live.id}/events${query}`, { headers });
  const coming = until(stream, isResult);
  await connected();
  await server.ask(`POST /sessions/${live.id}/turns`, { body: { prompt: "list files" } });
  const last = idsOf(live.frames).length;
  expect(idsOf(await coming)[0]).toBe(last + 1);
});

test("a reader that comes in the middle sees all of it once, in order", async () => {
  const { body } = await server.ask("POST /sessions", { body: { prompt: "write a.txt: x" } });
  const path = `/sessions/${body.session_id}/events`;
  const asked = await until(server.frames(path), (frame) => frame.event === "permission_request");
  const late = server.all(path);
  await connected();
  const { permission_id } = asked.at(-1)?.data.metadata ?? {};
  await server.ask(`POST /sessions/${body.session_id}/permissions/${permission_id}`, { body: { decision: "deny" } });
  const frames = await late;
  expect(frames.slice(0, asked.length)).toEqual(asked);
  expect(idsOf(frames)).toEqual(idsOf(frames).map((_, index) => index + 1));
  expect(frames.at(-1)?.event).toBe("end");
});

test("the boundaries of turn and step are there", () => {
  const types = new Set(whole.map((frame) => frame.event));
  for (const type of ["turn_start", "step_start", "text_delta", "tool_call", "tool_result", "step_end", "turn_end"]) {
    expect(types).toContain(type);
  }
});

test("the stream may not be cached or buffered", async () => {
  const response = await fetch(`${server.address}/sessions/${id}/events`);
  await response.text();
  expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
  expect(response.headers.get("cache-control")).toContain("no-cache");
  expect(response.headers.get("connection")).toBe("keep-alive");
  expect(response.headers.get("x-accel-buffering")).toBe("no");
});

describe("the singular family", () => {
  let session: { session_id: string };
  beforeAll(async () => {
    session = (await server.ask("POST /session", { body: {} })).body;
  });
  const say = (text: string) => server.ask(`POST /session/${session.session_id}/message`, { body: { text } });

  test("envelopes carry message_id, type, data, turn and timestamp, turn after turn", async () => {
    const stream = server.frames(`/session/${session.session_id}/events`);
    expect(await say("list files")).toMatchObject({ status: 202, body: { message_id: "msg-0" } });
    const seen: SseFrame[] = [];
    for await (const frame of stream) {
      seen.push(frame);
      if (!isResult(frame)) continue;
      if (seen.filter(isResult).length === 2) break;
      await say("list files");
    }
    expect(idsOf(seen)).toEqual(seen.map((_, index) => index + 1));
    const loop = seen.filter((frame) => frame.event === "loop_event");
    for (const { data } of loop.filter((frame) => frame.data.turn !== null)) {
      expect(data).toEqual({
        message_id: `msg-${data.turn}`,
        type: expect.any(String),
        data: expect.any(Object),
        turn: expect.any(Number),
        timestamp: expect.any(Number),
        ts: expect.stringMatching(/Z$/),
      });
    }
    expect(loop.find((frame) => frame.data.type === "tool_call")?.data.data).toMatchObject({ tool: "list_files" });
    expect(seen.filter(isResult).map((frame) => frame.data)).toMatchObject([
      { message_id: "msg-0", success: true, cancelled: false, steps: expect.any(Number), cost: 0 },
      { message_id: "msg-1", success: true },
    ]);
    expect(seen.filter((frame) => frame.event === "user_message")).toHaveLength(2);
  });

  test("a reader that lost its connection continues where it was, by the header alone", async () => {
    const path = `/session/${session.session_id}/events`;
    const first = await until(server.frames(path), (frame) => frame.id === 4);
    const headers = { "last-event-id": String(first.at(-1)?.id), accept: "text/event-stream" };
    const rest = await until(server.frames(path, { headers }), isResult);
    expect(idsOf([...first, ...rest])).toEqual([...first, ...rest].map((_, index) => index + 1));
  });
});

test("a reader of one session never sees another's events", async () => {
  const [first, second] = await Promise.all([server.run("list files"), server.run("read README.md")]);
  const tools = (frames: SseFrame[]) =>
    frames.filter((frame) => frame.event === "tool_call").map((frame) => frame.data.metadata.tool);
  expect(tools(first.frames)).toEqual(["list_files"]);
  expect(tools(second.frames)).toEqual(["Read"]);
  for (const { id: session, frames } of [first, second]) {
    expect(idsOf(frames)).toEqual(idsOf(frames).map((_, index) => index + 1));
    expect(frames.at(-1)?.data.session_id).toBe(session);
  }
});

/** Long enough for a request under way to reach the server on loopback: its answer to another request says so. */
async function connected(): Promise<void> {
  for (let round = 0; round < 3; round += 1) await server.ask("GET /health");
}

test("a server killed in a turn: a reader that resumes at the next one gets the turn's end, and the stream ends", async () => {
  const first = await startServer();
  const { body } = await first.ask("POST /sessions", { body: { prompt: "write a.txt: x" } });
  const path = `/sessions/${body.session_id}/events`;
  const seen = await until(first.frames(path), (frame) => frame.event === "permission_request");
  first.program.child.kill("SIGKILL");
  await first.program.exited;
  const { home, cwd } = first.program;
  const second = await startServer([], {}, { home, cwd });
  const rest = await second.all(path, { headers: { "last-event-id": String(seen.at(-1)?.id) } });
  expect(idsOf(rest)[0]).toBe((seen.at(-1)?.id ?? 0) + 1);
  expect(rest.slice(-2).map((frame) => frame.event)).toEqual([expect.stringMatching(/agent_result|cancelled/), "end"]);
  expect((await second.all(path)).slice(0, seen.length)).toEqual(seen);
});
