// Many sessions in one process: side by side, listed, evicted when idle, torn down.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { fileScope } from "./program.js";
import { scratchTree } from "./scratch.js";
import { type Server, type SseFrame, startServer, until } from "./server.js";

const atEnd = fileScope();
const isAsked = (frame: SseFrame) => frame.event === "permission_request";

let server: Server;
beforeAll(async () => {
  server = await startServer([], {}, { atEnd });
});
const open = async (at = server) => (await at.ask("POST /session", { body: {} })).body.session_id as string;
const say = (id: string, text: string, at = server) => at.ask(`POST /session/${id}/message`, { body: { text } });
/** A session whose turn waits for an answer. */
async function waiting(at = server) {
  const id = await open(at);
  await say(id, "write note.txt: hello", at);
  const asked = (await until(at.frames(`/session/${id}/events`), isAsked)).at(-1);
  return { id, permission: asked?.data.permission_id ?? asked?.data.data?.permission_id };
}

test("GET /session/{id} gives its state", async () => {
  const id = await open();
  expect((await server.ask(`GET /session/${id}`)).body).toMatchObject({
    session_id: id,
    working_dir: server.program.cwd,
    created_at: expect.any(Number),
    event_count: expect.any(Number),
  });
});

test("a session that waits holds up no other", async () => {
  const { id } = await waiting();
  const others = await Promise.all(Array.from({ length: 8 }, () => server.run("list files")));
  for (const { frames } of others) expect(frames.at(-1)).toMatchObject({ event: "end", data: { success: true } });
  expect((await server.ask(`GET /sessions/${id}`)).body.state).toBe("running");
});

test("the session touched last comes first", async () => {
  const [first, second] = [await open(), await open()];
  await say(first, "list files");
  await until(server.frames(`/session/${first}/events`), (frame) => frame.event === "result");
  const live = (await server.ask("GET /sessions?state=live")).body.sessions.map(
    (row: { session_id: string }) => row.session_id,
  );
  expect(live.indexOf(first)).toBeLessThan(live.indexOf(second));
  expect(live.indexOf(first)).toBe(0);
});

describe("an answer to a permission request", () => {
  test("POST /tool/approve allows or denies, once", async () => {
    const { id, permission } = await waiting();
    const body = { session_id: id, permission_id: permission, approved: true };
    expect(await server.ask("POST /tool/approve", { body })).toMatchObject({
      status: 200,
      body: { resolved: true, approved: true },
    });
    await until(server.frames(`/session/${id}/events`), (frame) => frame.event === "result");
    expect(existsSync(join(server.program.cwd, "note.txt"))).toBe(true);
    expect((await server.ask("POST /tool/approve", { body })).status).toBe(409);
  });

  test("the rules decide whether it is asked for at all", async () => {
    const rules = {
      rules: [
        { tool: "Write", action: "allow" },
        { tool: "Bash", action: "deny" },
      ],
    };
    const ruled = await startServer([], {}, { home: scratchTree({ "permissions.json": rules }) });
    const wrote = await ruled.run("write note.txt: hello");
    expect(wrote.frames.some(isAsked)).toBe(false);
    expect(existsSync(join(ruled.program.cwd, "note.txt"))).toBe(true);
    const ran = await ruled.run("run `touch made.txt`");
    expect(ran.frames.some(isAsked)).toBe(false);
    expect(existsSync(join(ruled.program.cwd, "made.txt"))).toBe(false);
  });
});

describe("teardown", () => {
  test("ends streams, denies what was asked, cancels the turn", async () => {
    const { id } = await waiting();
    const stream = server.all(`/session/${id}/events`);
    const canonical = server.all(`/sessions/${id}/events`);
    await server.ask("GET /health");
    expect((await server.ask(`DELETE /session/${id}`)).status).toBe(204);
    const frames = await canonical;
    expect((await stream).length).toBeGreaterThan(0);
    const records = frames.filter((frame) => frame.id !== undefined);
    expect(records.find((frame) => frame.event === "permission_resolved")?.data.metadata).toMatchObject({
      decision: "deny",
    });
    expect(records.at(-1)?.event).toBe("cancelled");
    expect((await server.ask(`GET /session/${id}`)).status).toBe(404);
    expect((await server.ask("GET /session")).body.sessions).not.toContain(id);
  });
});

describe("idle sessions", () => {
  let brief: Server;
  beforeAll(async () => {
    brief = await startServer(["--session-ttl", "0.6"], {}, { atEnd });
  });
  const live = async () => (await brief.ask("GET /session")).body.sessions as string[];
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  test("are unloaded at the next look, and their streams end cleanly", async () => {
    const { id } = await brief.run("list files");
    const stream = brief.all(`/session/${id}/events`);
    await brief.ask("GET /health");
    expect(await live()).toContain(id);
    await wait(800);
    expect(await live()).not.toContain(id);
    expect((await stream).at(-1)?.event).toBe("result");
    expect((await brief.ask(`GET /session/${id}`)).status).toBe(200);
  });

  test("a turn that waits is denied and cancelled", async () => {
    const { id } = await waiting(brief);
    await wait(800);
    expect(await live()).not.toContain(id);
    const frames = await brief.all(`/sessions/${id}/events`);
    expect(frames.find((frame) => frame.event === "permission_resolved")?.data.metadata).toMatchObject({
      decision: "deny",
      by: "eviction",
    });
    expect(frames.some((frame) => frame.event === "cancelled")).toBe(true);
  });

  test("reading, messaging, cancelling and subscribing keep a session alive", async () => {
    const id = await open(brief);
    const touches = [
      () => brief.ask(`GET /session/${id}`),
      () => say(id, "list files", brief),
      () => brief.ask(`POST /session/${id}/cancel`, { body: {} }),
      () => until(brief.frames(`/session/${id}/events`), () => true),
    ];
    for (const touch of touches) {
      await wait(400);
      await touch();
      expect(await live()).toContain(id);
    }
  });
});
