import { expect, test } from "vitest";
import { MASTER, type Served, sendRaw, serve } from "./fixture.js";

const ORIGIN = "http://localhost:3000";

function ask(served: Served, headers: readonly string[], request = "GET /sessions", body = "") {
  const auth = `Authorization: Bearer ${MASTER}`;
  const length = body ? [`Content-Length: ${body.length}`] : [];
  const lines = [`${request} HTTP/1.1`, ...headers, auth, "Connection: close", ...length];
  return sendRaw(served.port, `${lines.join("\r\n")}\r\n\r\n${body}`);
}

const servers = [
  ["with a token", { cors: [ORIGIN] }],
  ["without one", { cors: [ORIGIN], authToken: undefined as never }],
] as const;

/** `{P}` is the port. */
const HOSTS: Readonly<Record<string, number>> = {
  "127.0.0.1:{P}": 200,
  "localhost:{P}": 200,
  "LocalHost:{P}": 200,
  "[::1]:{P}": 200,
  localhost: 200,
  "rebound.example:{P}": 403,
  "127.0.0.1.rebound.example:{P}": 403,
  "localhost.rebound.example": 403,
  "localhost.:{P}": 403,
  "127.1:{P}": 403,
  "2130706433:{P}": 403,
  "0x7f.0.0.1:{P}": 403,
  "0.0.0.0:{P}": 403,
  "127.0.0.2:{P}": 403,
  "169.254.169.254": 403,
  "[::ffff:127.0.0.1]:{P}": 403,
  "localhost:{P}@rebound.example": 403,
  "localhost,rebound.example": 403,
  "localhost /": 403,
};

test.each(servers)("a server %s answers only to its own names", async (_, options) => {
  const served = await serve(options);
  for (const [host, expected] of Object.entries(HOSTS)) {
    const { status } = await ask(served, [`Host: ${host.replace("{P}", String(served.port))}`]);
    const accepted = expected === 200 ? [200] : [403, 400];
    expect(accepted.map((each) => `${host}: ${each}`)).toContain(`${host}: ${status}`);
  }
  expect([400, 403]).toContain((await ask(served, [])).status);
  expect([400, 403]).toContain((await ask(served, ["Host: 127.0.0.1", "Host: rebound.example"])).status);
});

test("a host in the request target is checked too", async () => {
  const served = await serve();
  const at = async (target: string) => (await ask(served, ["Host: localhost"], `GET ${target}`)).status;
  expect(await at("http://localhost/sessions")).toBe(200);
  expect(await at("http://rebound.example/sessions")).toBe(403);
  expect(await at("http://localhost@rebound.example/sessions")).toBe(403);
});

test("a host that the operator added is served", async () => {
  const served = await serve({ hosts: ["Agent.example", "fd00::1"] });
  expect((await ask(served, ["Host: agent.example"])).status).toBe(200);
  expect((await ask(served, ["Host: [fd00::1]:443"])).status).toBe(200);
});

const ORIGINS: Readonly<Record<string, number>> = {
  [ORIGIN]: 200,
  null: 403,
  "": 403,
  "http://elsewhere.example": 403,
  "https://localhost:3000": 403,
  "http://localhost": 403,
  "http://localhost:30000": 403,
  "http://LOCALHOST:3000": 403,
  "http://localhost:3000.elsewhere.example": 403,
  "http://localhost:3000/": 403,
  "http://127.0.0.1:3000": 403,
  "chrome-extension://abcdef": 403,
  "file://": 403,
};

test.each(servers)("a server %s lets only listed origins call", async (_, options) => {
  const served = await serve(options);
  for (const [origin, expected] of Object.entries(ORIGINS)) {
    const { status, text } = await ask(served, ["Host: localhost", `Origin: ${origin}`]);
    expect(`${origin}: ${status}`).toBe(`${origin}: ${expected}`);
    const allowed = /^access-control-allow-origin: (.*)$/im.exec(text)?.[1]?.trim();
    expect(allowed).toBe(expected === 200 ? ORIGIN : undefined);
    expect(text).not.toMatch(/access-control-allow-credentials/i);
    const posted = ["Host: localhost", `Origin: ${origin}`, "Content-Type: application/json"];
    const post = await ask(served, posted, "POST /session", "{}");
    expect(`${origin}: ${post.status}`).toBe(`${origin}: ${expected === 200 ? 201 : 403}`);
  }
  expect(served.sessions.live()).toHaveLength(1);
});

test("a preflight of a listed origin is answered without a token, and others are refused", async () => {
  const served = await serve({ cors: [ORIGIN] });
  const preflight = (origin: string) =>
    served.call("OPTIONS", "/sessions", { token: null, headers: { origin, "access-control-request-method": "POST" } });
  const allowed = await preflight(ORIGIN);
  expect(allowed.status).toBe(204);
  expect(Object.fromEntries(allowed.headers)).toMatchObject({
    "access-control-allow-origin": ORIGIN,
    "access-control-allow-methods": "GET, POST, PATCH, DELETE",
    "access-control-allow-headers":
      "Acp-Connection-Id, Acp-Session-Id, Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Prefer, X-Request-Id",
    vary: "Origin",
  });
  expect((await preflight("http://elsewhere.example")).status).toBe(403);
  expect((await served.call("OPTIONS", "/sessions", { token: null })).status).toBe(401);
});

test("a part of another site's page is refused, a link from there is followed", async () => {
  const served = await serve({ cors: [ORIGIN] });
  const from = async (site: string, mode: string, ...more: string[]) =>
    (await ask(served, ["Host: localhost", `Sec-Fetch-Site: ${site}`, `Sec-Fetch-Mode: ${mode}`, ...more])).status;
  expect(await from("cross-site", "no-cors")).toBe(403);
  expect(await from("same-site", "no-cors")).toBe(403);
  expect(await from("cross-site", "navigate")).toBe(200);
  expect(await from("same-origin", "cors")).toBe(200);
  expect(await from("cross-site", "cors", `Origin: ${ORIGIN}`)).toBe(200);
});

test.each(["text/plain", "text/plain; application/json", "application/x-www-form-urlencoded", "multipart/form-data"])(
  "a body of type %s, which any page can send, is refused",
  async (type) => {
    const served = await serve({ authToken: undefined as never });
    const { status } = await ask(served, ["Host: localhost", `Content-Type: ${type}`], "POST /session", "{}");
    expect(status).toBe(415);
    expect(served.sessions.live()).toHaveLength(0);
  },
);

test("a body without a type is refused, and an empty body needs no type", async () => {
  const served = await serve();
  expect((await ask(served, ["Host: localhost"], "POST /session", "{}")).status).toBe(415);
  expect((await ask(served, ["Host: localhost"], "POST /session")).status).toBe(201);
});

test("every answer carries the headers that keep a browser from guessing", async () => {
  const served = await serve();
  for (const [path, token] of [
    ["/health", MASTER],
    ["/sessions", MASTER],
    ["/sessions", "wrong"],
    ["/nowhere", MASTER],
  ]) {
    const { headers } = await served.call("GET", path!, { token: token! });
    expect(Object.fromEntries(headers)).toMatchObject({
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
      "content-security-policy": expect.stringContaining("default-src 'none'"),
    });
  }
});

test.each(["Host: localhost@rebound.example", "Host: [::ffff:127.0.0.1]", "Host: //"])(
  "so does the answer to bytes that are not a request (%s)",
  async (host) => {
    const served = await serve();
    const { status, text } = await ask(served, [host]);
    expect(status).toBe(403);
    for (const header of ["x-content-type-options: nosniff", "x-frame-options: DENY", "cache-control: no-store"]) {
      expect(text.toLowerCase()).toContain(header.toLowerCase());
    }
  },
);
