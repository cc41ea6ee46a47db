import { createHash } from "node:crypto";
import { type RouteName, routes, type Tier } from "@chimera/acp-schema/http";
import { expect, test } from "vitest";
import { MASTER, newSession, openStream, type Served, sendRaw, serve } from "./fixture.js";

const names = Object.keys(routes) as RouteName[];

/** `POST /sessions/{id}/permissions/{pid}` -> method and a path in which only the session is real. */
function requestOf(name: RouteName, id: string): [method: string, path: string] {
  const [method = "", path = ""] = name.split(" ");
  const filled = path.replace("{id}", id).replace(/\{\w+\}/g, "unknown");
  return [method, filled];
}

/** The status of an open route for an empty body: a sign-in needs a code. */
function openStatus(name: RouteName): number {
  return name === "POST /page/tokens" ? 400 : 200;
}

/** One raw request, so that no client tidies it up. */
function ask(served: Served, method: string, path: string, authorization: readonly string[]) {
  const body = method === "POST" ? "{}" : "";
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${served.port}`,
    "Connection: close",
    ...(body ? ["Content-Type: application/json", `Content-Length: ${body.length}`] : []),
    ...authorization.map((value) => `Authorization: ${value}`),
  ];
  return sendRaw(served.port, `${head.join("\r\n")}\r\n\r\n${body}`);
}

test("the router and the table of routes have the same routes", async () => {
  const { app } = await serve();
  const registered = app.routes
    .filter((route) => route.path !== "/*")
    .map((route) => `${route.method} ${route.path.replace(/:(\w+)/g, "{$1}")}`);
  expect(registered.toSorted()).toEqual([...new Set(registered)].toSorted());
  expect(registered.filter((name) => !Object.hasOwn(routes, name))).toEqual([]);
  expect(Object.keys(routes).filter((name) => !registered.includes(name))).toEqual([]);
});

/** Everything that is not the master's token nor the session's own, by what is wrong with it. */
const STRANGERS: Readonly<Record<string, readonly string[]>> = {
  nothing: [],
  "a wrong token": ["Bearer nobody"],
  "an empty token": ["Bearer "],
  "the scheme alone": ["Bearer"],
  "another scheme": [`Basic ${Buffer.from(`:${MASTER}`).toString("base64")}`],
  "the token without a scheme": [MASTER],
  "a longer token": [`Bearer ${MASTER}x`],
  "a shorter token": [`Bearer ${MASTER.slice(0, -1)}`],
  "the token's digest": [`Bearer ${createHash("sha256").update(MASTER).digest("hex")}`],
  "the word undefined": ["Bearer undefined"],
  "two headers, one right": ["Bearer nobody", `Bearer ${MASTER}`],
  "two tokens in one header": [`Bearer ${MASTER}, Bearer nobody`],
};

test.each(Object.entries(STRANGERS))("a caller with %s gets 401 everywhere but at the open routes", async (_, sent) => {
  const served = await serve();
  const { id } = await newSession(served);
  for (const name of names) {
    const [method, path] = requestOf(name, id);
    const { status, text } = await ask(served, method, path, sent);
    expect(`${name}: ${status}`).toBe(`${name}: ${routes[name].tier === "open" ? openStatus(name) : 401}`);
    if (status === 401) expect(text).toContain('{"error":"unauthorized"');
  }
  expect(served.sessions.find(id)?.lastSeq).toBe(0);
});

/** The status of each tier for the token of a session: for its own session, and for another one. */
const OWN: Readonly<Record<Tier, "passes" | 401 | 403>> = {
  open: "passes",
  session: "passes",
  admin: 403,
  person: 401,
  master: 401,
  any: "passes",
};

test("a session's token opens only its own session, in both families", async () => {
  const served = await serve();
  const other = await newSession(served);
  for (const name of names) {
    const own = await newSession(served);
    const [method, path] = requestOf(name, own.id);
    if (/events$/.test(name)) continue;
    const foreign = await ask(served, method, path, [`Bearer ${other.token}`]);
    // Any token begins an ACP connection, for its own session.
    if (routes[name].tier !== "any")
      expect(`${name}: ${foreign.status}`).toBe(`${name}: ${routes[name].tier === "open" ? openStatus(name) : 401}`);
    const { status, text } = await ask(served, method, path, [`Bearer ${own.token}`]);
    const expected = OWN[routes[name].tier];
    if (expected === "passes") expect([`${name}: 401`, `${name}: 403`]).not.toContain(`${name}: ${status}`);
    else expect(`${name}: ${status}`).toBe(`${name}: ${expected}`);
    if (status === 403) expect(text).toContain('"admin_only"');
  }
});

test("the master token opens every route, and gets 404 for an unknown path", async () => {
  const served = await serve();
  for (const name of names) {
    const { id } = await newSession(served);
    const [method, path] = requestOf(name, id);
    if (/events$/.test(name)) continue;
    expect([`${name}: 401`, `${name}: 403`]).not.toContain(
      `${name}: ${(await ask(served, method, path, [`Bearer ${MASTER}`])).status}`,
    );
  }
  expect((await served.call("GET", "/nowhere")).body).toMatchObject({ error: "not_found", path: "/nowhere" });
  expect((await served.call("GET", "/nowhere", { token: null })).status).toBe(401);
});

test.each([
  ["a token in the query", `/sessions?token=${MASTER}`, {}],
  ["a token in a cookie", "/sessions", { cookie: `token=${MASTER}` }],
  ["a forwarded address", "/sessions", { "x-forwarded-for": "127.0.0.1" }],
  ["a method override", "/sessions", { "x-http-method-override": "OPTIONS" }],
  ["another spelling of an open path", "/HEALTH", {}],
  ["a longer open path", "/health/", {}],
  ["an open path walked out of", "/health/../sessions", {}],
])("%s opens no route", async (_, path, headers) => {
  const served = await serve();
  expect((await served.call("GET", path, { token: null, headers })).status).toBe(401);
});

test("the scheme is read without case, and an open route stays open with a query", async () => {
  const served = await serve();
  expect((await ask(served, "GET", "/sessions", [`bearer ${MASTER}`])).status).toBe(200);
  expect((await served.call("GET", "/health?x=/sessions", { token: null })).status).toBe(200);
});

test("rotating a token ends the old one and its streams; the master's streams stay", async () => {
  const served = await serve();
  const { id, token } = await newSession(served);
  const theirs = await openStream(served, `/session/${id}/events`, { authorization: `Bearer ${token}` });
  const ours = await openStream(served, `/session/${id}/events`);
  const rotated = await served.call("POST", `/session/${id}/rotate-token`);
  expect(rotated.body.session_token).toMatch(/^[\w-]{43}$/);
  await theirs.ended;
  expect((await served.call("GET", `/session/${id}`, { token })).status).toBe(401);
  expect((await served.call("GET", `/session/${id}`, { token: rotated.body.session_token })).status).toBe(200);
  await served.call("POST", `/session/${id}/message`, { body: { text: "say still here" } });
  await ours.until((frames) => frames.some((frame) => frame.event === "result"));
});

test.each([
  ["GET", "/sessions/{id}/events?until=never"],
  ["GET", "/session/{id}/events"],
  ["GET", "/events?session={id}"],
  ["POST", "/runs"],
])("%s %s ends at once if its token ends while it is being opened", async (method, route) => {
  const served = await serve();
  const { id } = await newSession(served);
  const headers = { host: "localhost", authorization: `Bearer ${MASTER}`, "content-type": "application/json" };
  const parts = [{ content: "wait" }];
  const body = JSON.stringify({ agent_name: "otter", mode: "stream", input: [{ role: "user", parts }] });
  const opening = served.app.request(route.replace("{id}", id), {
    method,
    headers,
    ...(method === "POST" && { body }),
  });
  // The caller was let in; what the stream shows is still being looked up.
  served.app.changeAuthToken("another-secret");
  const opened = await opening;
  expect(opened.status).toBe(200);
  await opened.text();
});

test.each(["/session", "/sessions"])("DELETE %s/{id} revokes the token and ends every stream", async (family) => {
  const served = await serve();
  const { id, token } = await newSession(served);
  const stream = await openStream(served, `/session/${id}/events`);
  expect((await served.call("DELETE", `${family}/${id}`, { token })).status).toBe(204);
  await stream.ended;
  expect((await served.call("GET", `/session/${id}`, { token })).status).toBe(401);
  expect((await served.call("GET", `/session/${id}`)).body).toMatchObject({ error: "session_not_found" });
  expect((await served.call("DELETE", `/session/${id}`)).status).toBe(404);
});

test("rotateSessionToken issues a token, and null for a session that is not there", async () => {
  const served = await serve();
  const { id, token } = await newSession(served);
  const renewed = await served.app.rotateSessionToken(id);
  expect(renewed).not.toBe(token);
  expect((await served.call("GET", `/session/${id}`, { token: renewed! })).status).toBe(200);
  expect(await served.app.rotateSessionToken("otter-20260101T000000-00000000")).toBeNull();
});

test("a server without a token is open to every caller that passes the other checks", async () => {
  const served = await serve({ authToken: undefined as never });
  expect((await served.call("GET", "/sessions", { token: null })).status).toBe(200);
});

test("refusals of one address come ever slower, and a valid token never waits", async () => {
  const served = await serve();
  const statuses = await Promise.all(
    Array.from({ length: 260 }, async () => (await served.call("GET", "/info", { token: "guess" })).status),
  );
  expect(new Set(statuses)).toEqual(new Set([401, 429]));
  expect((await served.call("GET", "/info")).status).toBe(200);
});

test("no token reaches the log", async () => {
  const served = await serve({
    providers: () => {
      throw new Error("broken");
    },
  });
  const { id, token } = await newSession(served);
  await served.call("GET", "/info");
  await served.call("GET", `/session/${id}`, { token });
  expect(served.logged.join()).toContain("broken");
  expect(served.logged.join()).not.toContain(MASTER);
  expect(served.logged.join()).not.toContain(token);
});
