// Tokens: the master's, and one per session that opens nothing else.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { fileScope } from "./program.js";
import { type Server, startServer, until } from "./server.js";

const atEnd = fileScope();
const master = "a-master-secret";
const unauthorized = { status: 401, body: { error: "unauthorized", message: expect.any(String) } };

interface Created {
  readonly session_id: string;
  readonly session_token: string;
}
let server: Server;
const create = async (): Promise<Created> => (await server.ask("POST /session", { body: {} })).body;
beforeAll(async () => {
  server = await startServer([], { OTTER_SERVER_TOKEN: master }, { atEnd, token: master });
});

const routes = [
  "GET /info",
  "GET /sessions",
  "POST /sessions",
  "GET /session",
  "POST /session",
  "GET /sessions/x",
  "GET /sessions/x/events",
  "POST /sessions/x/turns",
  "POST /sessions/x/cancel",
  "GET /sessions/x/transcript",
  "POST /sessions/x/share",
  "POST /sessions/x/undo",
  "GET /session/x",
  "POST /session/x/rotate-token",
  "POST /tool/approve",
  "GET /commands",
  "POST /commands/x/invoke",
  "GET /runs",
  "GET /runs/cost",
  "POST /runs",
  "GET /agents",
  "GET /providers",
  "GET /tools",
  "GET /openapi.json",
  "GET /nowhere",
];

test("every route but the probes needs the token", async () => {
  for (const route of routes) {
    const body = route.startsWith("POST") ? { body: {} } : {};
    expect(await server.ask(route, { token: "", ...body }), route).toMatchObject(unauthorized);
  }
  expect(await server.ask("GET /info", { token: "wrong" })).toMatchObject(unauthorized);
  expect(await server.ask("GET /info", { token: "", headers: { authorization: `Basic ${master}` } })).toMatchObject(
    unauthorized,
  );
});

test.each(["GET /health", "GET /healthz", "GET /ping"])("%s is open", async (route) => {
  expect(await server.ask(route, { token: "" })).toMatchObject({ status: 200, body: { status: "ok" } });
});

test("--auth-token sets the token, which opens every route", async () => {
  const flagged = await startServer(["--auth-token", "typed"], {}, {});
  expect(await flagged.ask("GET /sessions", { token: master })).toMatchObject(unauthorized);
  for (const route of ["GET /info", "GET /sessions", "GET /session", "GET /commands", "GET /tools", "GET /agents"]) {
    expect((await flagged.ask(route, { token: "typed" })).status, route).toBe(200);
  }
  const { body } = await flagged.ask("POST /session", { token: "typed", body: {} });
  for (const route of [`GET /session/${body.session_id}`, `GET /sessions/${body.session_id}`]) {
    expect((await flagged.ask(route, { token: "typed" })).status, route).toBe(200);
  }
});

test("without a token the loopback server is open", async () => {
  const open = await startServer();
  expect((await open.ask("GET /sessions")).status).toBe(200);
  expect(new URL(open.address).hostname).toBe("127.0.0.1");
});

describe("a session's own token", () => {
  let mine: Created;
  let other: Created;
  beforeAll(async () => {
    [mine, other] = await Promise.all([create(), create()]);
  });

  test("comes with the session", async () => {
    const { status, body } = await server.ask("POST /session", { body: {} });
    expect(status).toBe(201);
    expect(body).toEqual({
      session_id: expect.stringMatching(/^otter-/),
      working_dir: server.program.cwd,
      created_at: expect.any(Number),
      created: expect.stringMatching(/Z$/),
      session_token: expect.any(String),
    });
    expect(Math.abs(Date.now() / 1000 - body.created_at)).toBeLessThan(60);
  });

  test("is 32 random bytes, URL-safe, unlike any other", () => {
    for (const { session_token } of [mine, other]) {
      expect(session_token).toMatch(/^[A-Za-z0-9_-]{43}$/);
      expect(Buffer.from(session_token, "base64url")).toHaveLength(32);
    }
    expect(mine.session_token).not.toBe(other.session_token);
  });

  test("opens the routes of its session", async () => {
    const token = mine.session_token;
    const path = `/session/${mine.session_id}`;
    expect((await server.ask(`GET ${path}`, { token })).status).toBe(200);
    expect((await server.ask(`POST ${path}/message`, { token, body: { text: "list files" } })).status).toBe(202);
    await until(server.frames(`${path}/events`, { token }), (frame) => frame.event === "result");
    expect((await server.ask(`POST ${path}/cancel`, { token, body: {} })).status).toBe(204);
    expect((await server.ask(`GET /sessions/${mine.session_id}`, { token })).status).toBe(200);
  });

  test("opens nothing of another session", async () => {
    const token = mine.session_token;
    for (const route of [`GET /session/${other.session_id}`, `GET /sessions/${other.session_id}/events`]) {
      expect(await server.ask(route, { token }), route).toMatchObject(unauthorized);
    }
    expect(await server.ask(`DELETE /session/${other.session_id}`, { token })).toMatchObject(unauthorized);
  });

  test("opens no route of the master's", async () => {
    const { session_id, session_token: token } = mine;
    const mastersOnly: [string, object?][] = [
      ["GET /sessions"],
      ["GET /session"],
      ["POST /session", {}],
      ["POST /sessions", { prompt: "list files" }],
      ["POST /tool/approve", { session_id, permission_id: "perm-1", approved: true }],
      ["GET /commands"],
      ["POST /commands/x/invoke", { session_id }],
      ["GET /runs"],
      ["GET /runs/cost"],
    ];
    for (const [route, body] of mastersOnly) {
      expect(await server.ask(route, { token, ...(body && { body }) }), route).toMatchObject(unauthorized);
    }
  });

  test("may not renew itself: 403 admin_only", async () => {
    const { session_id, session_token: token } = mine;
    expect(await server.ask(`POST /session/${session_id}/rotate-token`, { token, body: {} })).toMatchObject({
      status: 403,
      body: { error: "admin_only" },
    });
  });

  test("is renewed by the master, and the old one is refused at once", async () => {
    const { session_id, session_token: old } = await create();
    const { status, body } = await server.ask(`POST /session/${session_id}/rotate-token`, { body: {} });
    expect(status).toBe(200);
    expect(body).toEqual({ session_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/) });
    expect(body.session_token).not.toBe(old);
    expect(await server.ask(`GET /session/${session_id}`, { token: old })).toMatchObject(unauthorized);
    expect((await server.ask(`GET /session/${session_id}`, { token: body.session_token })).status).toBe(200);
  });

  test("is nowhere on disk; the record of the server holds a hash", async () => {
    const { home } = server.program;
    const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.length).toBeGreaterThan(2);
    for (const entry of files) {
      const text = readFileSync(join(entry.parentPath, entry.name), "utf8");
      for (const secret of [mine.session_token, other.session_token, master]) expect(text).not.toContain(secret);
    }
    const { port } = new URL(server.address);
    const record = JSON.parse(readFileSync(join(home, "run", `otter-${port}.pid`), "utf8"));
    expect(record).toMatchObject({
      pid: server.program.child.pid,
      host: "127.0.0.1",
      port: Number(port),
      prefix: "otter",
      auth_token_hash: `sha256:${createHash("sha256").update(master).digest("hex")}`,
      started_at: expect.any(Number),
      scheme: "http",
    });
  });
});

test("a restart forgets every session's token", async () => {
  const env = { OTTER_SERVER_TOKEN: master };
  const before = await startServer([], env, { token: master });
  const { id } = await before.run("list files");
  const { session_token: token } = (await before.ask(`POST /session/${id}/rotate-token`, { body: {} })).body;
  expect((await before.ask(`GET /session/${id}`, { token })).status).toBe(200);
  before.program.child.kill("SIGTERM");
  await before.program.exited;
  const { cwd, home } = before.program;
  const after = await startServer([], env, { cwd, home, token: master });
  expect(await after.ask(`GET /session/${id}`, { token })).toMatchObject(unauthorized);
  expect((await after.ask(`GET /session/${id}`)).status).toBe(200);
});
