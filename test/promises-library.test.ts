// The promises to an embedder: the same core, app and stdio server as libraries.
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { MODE_FLAGS } from "@chimera/acp-schema/conversation";
import { ferretDialect, otterDialect, serveAcp, standardDialect } from "@chimera/acp-server";
import { createMemoryStore } from "@chimera/event-store";
import { listPidfiles, stopAll } from "@chimera/host/pidfile";
import { createApp } from "@chimera/http-server";
import { streamChannel } from "@chimera/ndjson-rpc";
import { createSessions, createSlashPalette, DEFAULT_SESSION_TTL, type SessionsDeps } from "@chimera/session";
import { describe, expect, onTestFinished, test } from "vitest";
import { scratchTree } from "./scratch.js";
import { startServer } from "./server.js";

const palette = createSlashPalette({ home: "/nonexistent" });

/** An core around an agent that repeats what it hears, word by word. */
function core(deps: Partial<SessionsDeps> = {}) {
  const settings = { model: "none", agent: "build", maxSteps: 50, maxCostUsd: null, allowedTools: null, options: {} };
  const sessions = createSessions({
    agent: async function* ({ prompt }) {
      for (const word of prompt.text.split(" ")) yield { type: "text_delta", metadata: { text: word } };
    },
    store: createMemoryStore(),
    ephemeral: createMemoryStore(),
    snapshots: null,
    disk: { readText: async () => "", writeText: async () => {} },
    prefix: "parrot",
    defaults: { ...MODE_FLAGS.review, ...settings },
    coalesce: false,
    ...deps,
  });
  onTestFinished(() => sessions.shutdown());
  return sessions;
}
const mount = (sessions: ReturnType<typeof core>) =>
  createApp({ name: "parrot", version: "1.0.0", sessions, palette, defaultCwd: "/" });

describe("time to live", () => {
  const clocked = (ttl?: number | null) => {
    let now = 0;
    const sessions = core({ monotonic: () => now, ...(ttl !== undefined && { ttl }) });
    return { sessions, pass: (seconds: number) => (now += seconds * 1000) };
  };

  test("an hour, and the constant is exported", async () => {
    expect(DEFAULT_SESSION_TTL).toBe(3600);
    const { sessions, pass } = clocked();
    const { id } = await sessions.create({ cwd: "/" });
    pass(3599);
    await sessions.list();
    expect(sessions.find(id)).toBeDefined();
    pass(2);
    await sessions.list();
    expect(sessions.find(id)).toBeUndefined();
  });

  test.each([null, 0])("%s never evicts", async (ttl) => {
    const { sessions, pass } = clocked(ttl);
    const { id } = await sessions.create({ cwd: "/" });
    pass(1e9);
    await sessions.list();
    expect(sessions.find(id)).toBeDefined();
  });

  test("is the embedder's to choose, and the app takes the embedder's registry", async () => {
    const { sessions, pass } = clocked(600);
    const app = mount(sessions);
    const created = await app.request("/session", json({}));
    const { session_id } = (await created.json()) as { session_id: string };
    expect(sessions.find(session_id)).toBeDefined();
    pass(601);
    expect(await (await app.request("/session", host)).json()).toEqual({ sessions: [] });
  });
});

/** A client at the other end of two streams. */
function stdio(sessions: ReturnType<typeof core>, options: { readonly historyLimit?: number } = {}) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = serveAcp({
    channel: streamChannel(input, output),
    sessions: async () => ({ sessions, palette, models: () => [], agents: async () => [] }),
    program: { name: "parrot", title: "Parrot", version: "1.0.0" },
    dialects: [standardDialect, otterDialect, ferretDialect],
    native: "otter",
    ...options,
  });
  onTestFinished(async () => {
    input.end();
    await server.closed;
  });
  // biome-ignore lint/suspicious/noExplicitAny: a frame is whatever arrived.
  const frames: any[] = [];
  createInterface({ input: output }).on("line", (line) => frames.push(JSON.parse(line)));
  let lastId = 0;
  const call = async (method: string, params: object) => {
    const id = ++lastId;
    input.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    await expect.poll(() => frames.some((frame) => frame.id === id), { timeout: 10_000 }).toBe(true);
    return frames.find((frame) => frame.id === id).result;
  };
  return { frames, call };
}

const host = { headers: { host: "127.0.0.1" } };
const json = (body: object) => ({
  method: "POST",
  headers: { ...host.headers, "content-type": "application/json" },
  body: JSON.stringify(body),
});

test("an embedder renews a session's token, and learns when there is no session", async () => {
  const sessions = core();
  const app = mount(sessions);
  const { id } = await sessions.create({ cwd: "/" });
  const [first, second] = [await app.rotateSessionToken(id), await app.rotateSessionToken(id)];
  expect(first).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(second).not.toBe(first);
  expect(await app.rotateSessionToken("parrot-20260101T000000-00000000")).toBeNull();
});

test("an embedder gets the token of a session with the session, without a request", async () => {
  const sessions = core();
  const app = createApp({ name: "parrot", version: "1.0.0", sessions, defaultCwd: "/", authToken: "master-secret" });
  const cwd = scratchTree({});
  const [one, other] = [await app.createSession({ cwd, settings: { maxSteps: 3 } }), await app.createSession()];
  expect(one.sessionToken).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(other.sessionToken).not.toBe(one.sessionToken);
  expect(one.session).toMatchObject({ cwd, settings: { maxSteps: 3 } });
  expect([other.session.cwd, sessions.find(other.session.id)]).toEqual(["/", other.session]);

  const ask = async (path: string, token: string) =>
    (await app.request(path, { headers: { ...host.headers, authorization: `Bearer ${token}` } })).status;
  expect(await ask(`/session/${one.session.id}`, one.sessionToken)).toBe(200);
  expect(await ask(`/session/${other.session.id}`, one.sessionToken)).toBe(401);
  expect(await ask("/sessions", one.sessionToken)).toBe(401);
  const renewed = await app.rotateSessionToken(one.session.id);
  expect(await ask(`/session/${one.session.id}`, one.sessionToken)).toBe(401);
  expect(await ask(`/session/${one.session.id}`, renewed ?? "")).toBe(200);
});

test("a directory that is not there is refused, and leaves no session", async () => {
  const sessions = core();
  const app = mount(sessions);
  for (const cwd of ["/nonexistent", "relative", ""]) {
    await expect(app.createSession({ cwd })).rejects.toMatchObject({ status: 400, code: "invalid_cwd" });
  }
  expect(sessions.live()).toEqual([]);
});

test("what an embedder says about its agent is in the manifest", async () => {
  const about = { name: "parrot", version: "1.0.0", sessions: core(), defaultCwd: "/" };
  const app = createApp({ ...about, agentDescription: "My embedded parrot" });
  const described = { name: "parrot", description: "My embedded parrot" };
  expect(await (await app.request("/agents/parrot", host)).json()).toMatchObject(described);
  expect(await (await app.request("/agents", host)).json()).toMatchObject({ agents: [described] });
});

test("the app answers in another server, on a registry that ACP shares", async () => {
  const sessions = core();
  const app = mount(sessions);
  const acp = stdio(sessions);
  await acp.call("initialize", { protocolVersion: 1 });
  const { sessionId } = await acp.call("session/new", { cwd: "/", mcpServers: [] });
  const posted = await app.request(`/sessions/${sessionId}/turns`, json({ prompt: "one two" }));
  expect(posted.status).toBe(202);
  await sessions.find(sessionId)?.idle();
  const whole = (await (await app.request(`/sessions/${sessionId}`, host)).json()) as { summary: { success: boolean } };
  expect(whole.summary.success).toBe(true);
  await expect.poll(() => JSON.stringify(acp.frames)).toContain('"text":"two"');
});

test("the stdio server runs on any two streams", async () => {
  const acp = stdio(core());
  expect(await acp.call("initialize", { protocolVersion: 1 })).toMatchObject({ agentInfo: { name: "parrot" } });
  const { sessionId } = await acp.call("session/new", { cwd: "/", mcpServers: [] });
  const prompt = [{ type: "text", text: "hello" }];
  expect(await acp.call("session/prompt", { sessionId, prompt })).toMatchObject({ stopReason: "end_turn" });
});

test("an embedder bounds the history of a dialect", async () => {
  const acp = stdio(core(), { historyLimit: 2 });
  await acp.call("initialize", {});
  const { sessionId } = await acp.call("session/new", { cwd: "/" });
  await acp.call("session/message", { sessionId, message: "one two three four" });
  expect(await acp.call("session/resume", { sessionId, sinceEventId: 0 })).toMatchObject({
    replayed: 2,
    truncated: true,
  });
});

describe("approval time-outs", () => {
  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, true, "60", null])(
    "%s is refused when the core is made",
    (value) => {
      const refusal = { code: "invalid_setting", message: expect.stringMatching(/^permissionTimeout takes a finite/) };
      expect(() => core({ permissionTimeout: value as number })).toThrow(expect.objectContaining(refusal));
    },
  );

  test("one of 30 days waits for the answer", async () => {
    const sessions = core({
      permissionTimeout: 30 * 24 * 3600,
      agent: async function* (_turn, { ask }) {
        const { decision, by } = await ask({ call_id: "c", tool: "Bash", args: {}, risk: "low" });
        yield { type: "text_delta", metadata: { text: `${decision} by ${by}` } };
      },
    });
    const session = await sessions.create({ cwd: "/" });
    sessions.attach(session.id, { approves: true });
    session.prompt({ text: "go" });
    await expect.poll(() => session.openPermissions.size).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const [id = ""] = session.openPermissions.keys();
    await session.answer(id, "allow");
    await session.idle();
    expect(session.conversation.turns[0]?.result?.output).toBe("allow by client");
  });
});

describe("pidfiles", () => {
  test("servers are listed and stopped by functions", async () => {
    const server = await startServer();
    const { port } = new URL(server.address);
    const directory = join(server.program.home, "run");
    const at = { prefix: "otter", directory };
    expect(listPidfiles(at)).toEqual([
      expect.objectContaining({ port: Number(port), pid: server.program.child.pid, alive: true }),
    ]);
    await stopAll({ ...at, port: Number(port), timeout: 5 });
    expect(await server.program.exited).toBe(0);
    expect(listPidfiles(at)).toEqual([]);
  });

  test("an app in another program's server leaves none", async () => {
    const app = mount(core());
    expect((await app.request("/health", host)).status).toBe(200);
    expect(listPidfiles({ prefix: "parrot" })).toEqual([]);
  });
});
