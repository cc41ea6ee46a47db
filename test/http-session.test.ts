// The walk of the README over HTTP, against the built program.
import { describe, expect, test } from "vitest";
import { addressOf, startProgram } from "./program.js";
import { framesOf, type SseFrame } from "./server.js";

/** Reads a stream to its end. */
async function readFrames(response: Response): Promise<SseFrame[]> {
  const frames: SseFrame[] = [];
  for await (const frame of framesOf(response)) frames.push(frame);
  return frames;
}

/** Starts a server, runs one session to its end and reads it twice: whole, and from a cursor. */
async function walk() {
  const program = startProgram("otter", ["serve", "--port", "0"]);
  const address = await addressOf(program);
  const health = await fetch(`${address}/health`).then((response) => response.json());
  const created = await fetch(`${address}/sessions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ prompt: "list files and read README" }),
  });
  const session = (await created.json()) as { session_id: string; status: string };
  const url = `${address}/sessions/${session.session_id}/events`;
  const events = await fetch(url);
  const frames = await readFrames(events);
  const resumed = await readFrames(await fetch(url, { headers: { "last-event-id": "5" } }));
  program.child.kill("SIGTERM");
  const code = await program.exited;
  return { health, status: created.status, session, headers: events.headers, frames, resumed, code };
}

describe("one session over HTTP", () => {
  let walking: ReturnType<typeof walk> | undefined;
  const walked = () => {
    walking ??= walk();
    return walking;
  };
  const records = async () => (await walked()).frames.slice(0, -1);

  test("the server says that it is well", async () => {
    const { health } = await walked();
    expect(health).toEqual({ status: "ok", version: expect.any(String), started_at: expect.stringMatching(/Z$/) });
  });

  test("a prompt starts a session at once", async () => {
    const { status, session } = await walked();
    expect(status).toBe(201);
    expect(session).toMatchObject({ session_id: expect.stringMatching(/^otter-/), status: "running" });
  });

  test("a record is an id, its type and the record itself", async () => {
    for (const { id, event, data } of await records()) {
      expect(data).toMatchObject({ seq: id, type: event, id: expect.stringMatching(/^evt-/), ts: expect.any(String) });
    }
  });

  test("ids count from 1 without gaps, from the first record on", async () => {
    const ids = (await records()).map((frame) => frame.id);
    expect(ids).toEqual(ids.map((_, index) => index + 1));
  });

  test("the offline model really calls the tools", async () => {
    const calls = (await records()).filter((frame) => frame.event === "tool_call");
    expect(calls.map((frame) => frame.data["metadata"])).toEqual([
      expect.objectContaining({ tool: "list_files" }),
      expect.objectContaining({ tool: "Read" }),
    ]);
  });

  test("the last record is followed by the end of the stream", async () => {
    const { frames, session } = await walked();
    expect(frames.at(-2)).toMatchObject({ event: "agent_result", data: { metadata: { success: true } } });
    expect(frames.at(-1)).toEqual({ event: "end", data: { session_id: session.session_id, success: true } });
  });

  test("a cursor resumes after the record it names", async () => {
    const { frames, resumed } = await walked();
    expect(resumed).toEqual(frames.slice(5));
  });

  test("the stream is announced as one", async () => {
    const { headers } = await walked();
    expect(headers.get("content-type")).toContain("text/event-stream");
    expect(headers.get("cache-control")).toContain("no-cache");
  });

  test("SIGTERM ends it with exit code 0", async () => {
    expect((await walked()).code).toBe(0);
  });
});

test("a port that is taken is named, with the way out", async () => {
  const first = startProgram("otter", ["serve", "--port", "0"]);
  const { port } = new URL(await addressOf(first));
  const second = startProgram("otter", ["serve", "--port", port]);
  expect(await second.exited).toBe(1);
  expect(second.stderr()).toContain(port);
  expect(second.stderr()).toContain("--port");
});

test.each([
  [["serv"], "serv", "serve"],
  [["serve", "--prot", "1"], "--prot", "--port"],
])("%j exits 2, names the mistake and the nearest word, and leaves stdout alone", async (args, mistake, nearest) => {
  const program = startProgram("otter", args);
  let stdout = "";
  program.child.stdout.on("data", (bytes) => {
    stdout += String(bytes);
  });
  expect(await program.exited).toBe(2);
  expect(program.stderr().trimEnd().split("\n")).toHaveLength(1);
  expect(program.stderr()).toContain(mistake);
  expect(program.stderr()).toContain(nearest);
  expect(stdout).toBe("");
});
