import { brotliCompressSync, brotliDecompressSync, gzipSync } from "node:zlib";
import { type RouteName, routes } from "@chimera/acp-schema/http";
import { expect, test, vi } from "vitest";
import type { PageFile } from "../src/index.js";
import { newSession, openStream, type Served, sendRaw, serve } from "./fixture.js";

const SCRIPT = Buffer.from("document.title = 'page';".repeat(50));
const files: readonly PageFile[] = [
  {
    path: "/",
    type: "text/html; charset=utf-8",
    immutable: false,
    body: Buffer.from("<!doctype html><title>page</title>"),
  },
  {
    path: "/assets/app-0a1b.js",
    type: "text/javascript; charset=utf-8",
    immutable: true,
    body: SCRIPT,
    gzip: gzipSync(SCRIPT),
    brotli: brotliCompressSync(SCRIPT),
  },
];
const page = async () => files;

/** Sends a request as it is and gives the whole answer; `{P}` is the port. */
async function raw(served: Served, request: string, ...headers: readonly string[]) {
  const lines = [`${request} HTTP/1.1`, ...headers, "Connection: close"].join("\r\n");
  return sendRaw(served.port, `${lines.replaceAll("{P}", String(served.port))}\r\n\r\n`);
}

async function signIn(served: Served) {
  const { body } = await served.call("POST", "/page/codes");
  const signedIn = await served.call("POST", "/page/tokens", { token: null, body: { code: body.code } });
  expect(signedIn.status).toBe(201);
  return signedIn.body as { id: string; token: string; idle_seconds: number };
}

test("the page is served to everybody, with a policy that lets a browser run only its files", async () => {
  const served = await serve({ page });
  const index = await served.call("GET", "/", { token: null });
  expect(index).toMatchObject({ status: 200, text: "<!doctype html><title>page</title>" });
  expect(Object.fromEntries(index.headers)).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types md",
  });
  const etag = index.headers.get("etag")!;
  const again = await served.call("GET", "/", { token: null, headers: { "if-none-match": `"other", ${etag}` } });
  expect(again).toMatchObject({ status: 304, text: "" });
  expect(again.headers.get("etag")).toBe(etag);
});

test.each([
  ["br, gzip", "br"],
  ["gzip", "gzip"],
  ["gzip, br;q=0", "gzip"],
  ["br;q=0.5", "br"],
  ["identity", null],
  ["brown, x-gzip", null],
])("a caller that accepts %j gets %s", async (accepted, encoding) => {
  const served = await serve({ page });
  const { status, text } = await raw(
    served,
    "GET /assets/app-0a1b.js",
    "Host: localhost:{P}",
    `Accept-Encoding: ${accepted}`,
  );
  const [head = "", body = ""] = text.split("\r\n\r\n");
  expect(status).toBe(200);
  expect(head).toMatch(/^cache-control: public, max-age=31536000, immutable$/im);
  expect(head).toMatch(/^vary: Accept-Encoding$/im);
  expect(/^content-encoding: (.*)$/im.exec(head)?.[1]?.trim() ?? null).toBe(encoding);
  if (encoding === "br") expect(brotliDecompressSync(Buffer.from(body, "latin1"))).toEqual(SCRIPT);
  if (encoding === null) expect(body).toBe(SCRIPT.toString());
});

test("each encoding of a file has its own ETag, and HEAD has no body", async () => {
  const served = await serve({ page });
  const etags = new Set<string>();
  for (const encoding of ["br", "gzip", "identity"]) {
    const { text } = await raw(
      served,
      "HEAD /assets/app-0a1b.js",
      "Host: localhost:{P}",
      `Accept-Encoding: ${encoding}`,
    );
    expect(text.split("\r\n\r\n")[1]).toBe("");
    etags.add(/^etag: (.*)$/im.exec(text)![1]!);
  }
  expect(etags.size).toBe(3);
});

test("files are read once, at the first request, and again after a failure", async () => {
  let reads = 0;
  const served = await serve({
    page: async () => {
      reads += 1;
      if (reads === 1) throw new Error("the disk is away");
      return files;
    },
  });
  await served.call("GET", "/sessions");
  expect(reads).toBe(0);
  expect((await served.call("GET", "/", { token: null })).body).toMatchObject({ error: "internal_error" });
  for (let i = 0; i < 3; i++) expect((await served.call("GET", "/", { token: null })).status).toBe(200);
  expect(reads).toBe(2);
  expect(served.logged.join()).toContain("the disk is away");
});

test("other paths answer as before, and so does a server without a page", async () => {
  const served = await serve({ page });
  for (const path of [
    "/assets/",
    "/assets/app-0a1b.js.map",
    "//",
    "/%2e%2e/etc/passwd",
    "/sessions/..",
    "/assets/%2E",
  ]) {
    expect([path, (await raw(served, `GET ${path}`, "Host: localhost")).status]).not.toContain(200);
  }
  expect((await served.call("GET", "/assets/none", { token: null })).status).toBe(401);
  expect((await served.call("GET", "/assets/none")).status).toBe(404);
  expect((await served.call("POST", "/", { body: {} })).status).toBe(404);
  const bare = await serve();
  expect((await bare.call("GET", "/", { token: null })).status).toBe(401);
  expect((await bare.call("GET", "/")).status).toBe(404);
});

/** Host, Origin -> the answer to a request with the token. */
const ORIGINS: readonly (readonly [string, string, number])[] = [
  ["localhost:{P}", "http://localhost:{P}", 200],
  ["127.0.0.1:{P}", "http://127.0.0.1:{P}", 200],
  ["[::1]:{P}", "http://[::1]:{P}", 200],
  ["LOCALHOST:{P}", "http://localhost:{P}", 200],
  ["agent.example", "http://agent.example", 200],
  ["localhost:{P}", "https://localhost:{P}", 403],
  ["localhost:{P}", "http://127.0.0.1:{P}", 403],
  ["localhost:{P}", "http://localhost:1", 403],
  ["localhost:{P}", "http://localhost", 403],
  ["localhost:{P}", "http://localhost:{P}/", 403],
  ["localhost:{P}", "http://localhost:{P}.rebound.example", 403],
  ["localhost:{P}", "null", 403],
  ["rebound.example:{P}", "http://rebound.example:{P}", 403],
];

test("the page's origin may call if it matches the scheme and host of the request; other origins may not", async () => {
  const served = await serve({ page, hosts: ["agent.example"] });
  const bare = await serve({ hosts: ["agent.example"] });
  for (const [host, origin, expected] of ORIGINS) {
    const sent = [`Host: ${host}`, `Origin: ${origin}`, "Authorization: Bearer master-secret"];
    expect([host, origin, (await raw(served, "GET /sessions", ...sent)).status]).toEqual([host, origin, expected]);
    expect((await raw(bare, "GET /sessions", ...sent)).status).toBe(403);
  }
  const own = ["Host: localhost:{P}", "Origin: http://localhost:{P}", "Authorization: Bearer master-secret"];
  expect((await raw(served, "GET /sessions", ...own, "Sec-Fetch-Site: same-origin")).status).toBe(200);
  expect((await raw(served, "GET /sessions", ...own, "Sec-Fetch-Site: cross-site")).status).toBe(403);
});

test("a code is exchanged once, for a token that opens the routes of a page but not those of the master", async () => {
  const served = await serve({ page, pageCode: "printed-at-the-start" });
  const exchange = (code: unknown) => served.call("POST", "/page/tokens", { token: null, body: { code } });
  const { status, body } = await exchange("printed-at-the-start");
  expect(status).toBe(201);
  expect(body).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{12}$/),
    token: expect.stringMatching(/^[\w-]{43}$/),
    idle_seconds: 43_200,
  });
  for (const code of ["printed-at-the-start", "", "x".repeat(10_000), body.token]) {
    expect([code, (await exchange(code)).body]).toMatchObject([code, { error: "unauthorized" }]);
  }
  expect((await exchange(5)).body).toMatchObject({ error: "invalid_body" });

  const session = await newSession(served);
  for (const name of Object.keys(routes) as RouteName[]) {
    if (/events$|^DELETE/.test(name)) continue;
    const [method = "", path = ""] = name.split(" ");
    const target = path.replace("{id}", session.id).replace(/\{\w+\}/g, "unknown");
    const answer = await served.call(method, target, { token: body.token, ...(method !== "GET" && { body: {} }) });
    // Signing further pages in, and seeing them, takes a token.
    const isForTokens = name === "POST /page/codes" || name === "GET /page/tokens";
    if (routes[name].tier === "master" || routes[name].tier === "any" || isForTokens)
      expect([name, answer.status, answer.body.error]).toEqual([name, 403, "admin_only"]);
    else expect([name, [401, 403].includes(answer.status) && routes[name].tier !== "open"]).toEqual([name, false]);
  }
});

test("only the newest codes work", async () => {
  const served = await serve({ page, pageCode: "the-first" });
  for (let i = 0; i < 100; i++) await served.call("POST", "/page/codes");
  expect((await served.call("POST", "/page/tokens", { token: null, body: { code: "the-first" } })).status).toBe(401);
});

test("if the system tells users apart, another user cannot exchange a code", async () => {
  const served = await serve({ page, pageCode: "seen-by-others", isOwnUser: async () => false });
  const { status } = await served.call("POST", "/page/tokens", { token: null, body: { code: "seen-by-others" } });
  expect(status).toBe(401);
});

test("pages are listed and revoked; a page can sign out only itself; its streams and session tokens end with it", async () => {
  const served = await serve({ page });
  const [mine, other] = [await signIn(served), await signIn(served)];
  const list = async () => (await served.call("GET", "/page/tokens")).body.tokens as { id: string }[];
  expect(await list()).toEqual([mine, other].map(({ id }) => expect.objectContaining({ id, name: expect.anything() })));
  expect(JSON.stringify(await list())).not.toContain(mine.token);

  const made = (await served.call("POST", "/session", { token: mine.token, body: {} })).body;
  const bearer = { authorization: `Bearer ${mine.token}` };
  const one = await openStream(served, `/session/${made.session_id}/events`, bearer);
  const many = await openStream(served, `/events?session=${made.session_id}&list=true`, bearer);
  const ofSession = await openStream(served, `/session/${made.session_id}/events`, {
    authorization: `Bearer ${made.session_token}`,
  });

  expect((await served.call("DELETE", `/page/tokens/${mine.id}`, { token: other.token })).status).toBe(403);
  expect((await served.call("GET", "/sessions", { token: mine.token })).status).toBe(200);
  expect((await served.call("DELETE", `/page/tokens/${mine.id}`, { token: mine.token })).status).toBe(204);
  await Promise.all([one.ended, many.ended, ofSession.ended]);
  expect((await served.call("GET", "/sessions", { token: mine.token })).status).toBe(401);
  expect((await served.call("GET", `/session/${made.session_id}`, { token: made.session_token })).status).toBe(401);
  expect((await served.call("GET", `/session/${made.session_id}`)).status).toBe(200);

  expect((await served.call("DELETE", `/page/tokens/${mine.id}`)).status).toBe(404);
  expect((await served.call("DELETE", `/page/tokens/${other.id}`)).status).toBe(204);
  expect(await list()).toEqual([]);
});

test("a page without requests for twelve hours is signed out, and a code works for one hour", async () => {
  const served = await serve({ page, pageCode: "printed-at-the-start" });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const { token } = await signIn(served);
    const late = (await served.call("POST", "/page/codes")).body.code;
    const hours = (count: number) => vi.advanceTimersByTime(count * 60 * 60 * 1000);
    hours(11);
    expect((await served.call("POST", "/page/tokens", { token: null, body: { code: late } })).status).toBe(401);
    expect((await served.call("GET", "/sessions", { token })).status).toBe(200);
    const stream = await openStream(served, "/events?list=true", { authorization: `Bearer ${token}` });
    hours(11);
    expect((await served.call("GET", "/sessions", { token })).status).toBe(200);
    hours(12);
    await stream.ended;
    expect((await served.call("GET", "/sessions", { token })).status).toBe(401);
  } finally {
    vi.useRealTimers();
  }
});
