import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { expect, it } from "vitest";
import { addPerson, fileList, parsePeople } from "../src/people.js";
import { freePort, makeHome, run, startServer } from "./program.js";

const MASTER = ["--auth-token", "a-token-of-our-own"];

async function add(home: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(home, ["token", "add", ...args]);
  expect([code, stderr]).toEqual([0, expect.stringContaining("shown only once")]);
  return stdout.trim();
}

async function call(
  port: number,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; body: never }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  return { status: response.status, body: (await response.json().catch(() => null)) as never };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

it("notices a list that was created after the read and before the watch", async () => {
  const list = fileList(join(await makeHome(), "people.json"));
  expect(await list.read()).toBeNull();
  await addPerson(list, { name: "ann@example.com", role: "user" });
  await new Promise<void>((resolve) => list.onChange(async () => resolve()));
  expect(parsePeople(await list.read())).toMatchObject([{ name: "ann@example.com" }]);
});

it("gives a person a token, stores only its digest, and admits them to the running server", async () => {
  const home = await makeHome();
  const port = await freePort();
  await startServer(home, port, ...MASTER);
  const token = await add(home, "ann@example.com");
  const path = join(home, ".chimera", "people.json");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, "utf8")).not.toContain(token);
  expect((await run(home, ["token"])).stdout).toMatch(/^ann@example\.com {2}user {2}\d{4}-/);
  await expect
    .poll(() => call(port, "/me", bearer(token)), { timeout: 5000 })
    .toMatchObject({ status: 200, body: { name: "ann@example.com", role: "user", by: "user" } });
});

/** Sends a request and resolves when the answer begins; `closed` resolves with the time at which the server ended the connection. */
async function hold(port: number, path: string, headers: Record<string, string>) {
  const asked = request({ port, path, headers, agent: false }).end();
  const [answer, socket = answer.socket] = await Promise.race([once(asked, "response"), once(asked, "upgrade")]);
  (answer.statusCode === 200 ? answer : socket).resume();
  return { status: answer.statusCode as number, closed: once(socket, "close").then(() => Date.now()) };
}

it("cuts the streams, ACP connections, WebSockets and pages of a token within a second after it is revoked", async () => {
  const home = await makeHome();
  const port = await freePort();
  await startServer(home, port, ...MASTER);
  // On a busy machine, one attempt may be late.
  let slowest = Number.POSITIVE_INFINITY;
  for (let n = 0; n < 3 && slowest >= 1000; n++) slowest = await timeToCut(home, port, `ann${n}`);
  expect(slowest).toBeLessThan(1000);
});

/** Opens every kind of connection with a person's token, revokes it, and resolves with the milliseconds until the last was cut. */
async function timeToCut(home: string, port: number, name: string): Promise<number> {
  const token = await add(home, name);
  await expect.poll(async () => (await call(port, "/me", bearer(token))).status, { timeout: 5000 }).toBe(200);
  const post = async (path: string, body: unknown, headers = bearer(token)) => {
    const init = {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
    return { headers: response.headers, body: (await response.json()) as Record<string, string> };
  };
  const { session_id: id, session_token } = (await post("/session", {})).body as {
    session_id: string;
    session_token: string;
  };
  const { code } = (await post("/page/codes", {})).body;
  const page = (await post("/page/tokens", { code }, {} as never)).body as { token: string };
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: 1, clientCapabilities: {} },
  };
  const connection = { "acp-connection-id": (await post("/acp", initialize)).headers.get("acp-connection-id")! };
  const upgrade = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
  };
  const held = await Promise.all([
    hold(port, "/events?list=true", bearer(token)),
    hold(port, `/events?session=${id}`, bearer(page.token)),
    hold(port, `/session/${id}/events`, bearer(token)),
    hold(port, `/sessions/${id}/events`, bearer(session_token)),
    hold(port, "/acp", { ...bearer(token), ...connection, accept: "text/event-stream" }),
    hold(port, "/acp", { ...bearer(token), ...upgrade }),
    hold(port, "/acp", { ...bearer(session_token), ...upgrade }),
  ]);
  expect(held.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 101, 101]);
  expect((await run(home, ["token", "revoke", name])).code).toBe(0);
  const revoked = Date.now();
  const cut = await Promise.all(held.map(({ closed }) => closed));
  for (const each of [token, page.token, session_token]) {
    expect((await call(port, `/session/${id}`, bearer(each))).status).toBe(401);
  }
  return Math.max(...cut) - revoked;
}

it("needs no master token where people are listed, and reports a list that it cannot read", async () => {
  const home = await makeHome();
  const port = await freePort();
  const token = await add(home, "ada", "--role", "admin");
  await startServer(home, port);
  expect((await call(port, "/sessions", {})).status).toBe(401);
  expect((await call(port, "/sessions", bearer(token))).status).toBe(200);
  expect(await run(home, ["token", "add", "ada"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("revoke it"),
  });
  expect(await run(home, ["token", "revoke", "bob"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("nobody"),
  });
  expect(await run(home, ["token", "add", "a b"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("a name has"),
  });
  expect(await run(home, ["token", "add", "bob", "--role", "king"])).toMatchObject({ code: 2 });
  writeFileSync(join(home, ".chimera", "people.json"), "{}");
  expect(await run(home, ["token", "list"])).toMatchObject({ code: 2, stderr: expect.stringContaining("version 1") });
  // A list that cannot be read changes nothing for a running server.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  expect((await call(port, "/sessions", bearer(token))).status).toBe(200);
});

it("loses no person when many are added at once", async () => {
  const home = await makeHome();
  await Promise.all(Array.from({ length: 6 }, (_, at) => add(home, `p${at}`)));
  const { stdout } = await run(home, ["token", "list", "--json"]);
  expect(
    JSON.parse(stdout)
      .people.map(({ name }: { name: string }) => name)
      .sort(),
  ).toEqual(["p0", "p1", "p2", "p3", "p4", "p5"]);
});

it("trusts a proxy that calls from its network with the secret, and no other caller", async () => {
  const home = await makeHome();
  const port = await freePort();
  const secret = join(home, "secret");
  writeFileSync(secret, "agreed-on\n", { mode: 0o600 });
  const proxy = ["--user-header", "X-Forwarded-Email", "--proxy-secret-file", secret];
  await startServer(home, port, ...MASTER, "--trust-proxy", "127.0.0.0/8", ...proxy);
  const named = { "x-forwarded-email": "ann@example.com" };
  expect((await call(port, "/me", { ...named, "x-proxy-secret": "agreed-on" })).body).toMatchObject({
    name: "ann@example.com",
  });
  expect((await call(port, "/me", named)).status).toBe(401);
  expect((await call(port, "/me", { ...named, "x-proxy-secret": "guessed" })).status).toBe(401);
  expect((await call(port, "/me", { "x-forwarded-email": "a b", "x-proxy-secret": "agreed-on" })).status).toBe(401);
  const far = await freePort();
  await startServer(home, far, ...MASTER, "--trust-proxy", "10.0.0.0/8", ...proxy);
  expect((await call(far, "/me", { ...named, "x-proxy-secret": "agreed-on" })).status).toBe(401);
  const half = await run(home, ["serve", "--trust-proxy", "10.0.0.0/8"]);
  expect(half).toMatchObject({ code: 2, stderr: expect.stringContaining("given together") });
});
