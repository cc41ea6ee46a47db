// Requests that never reach the app get the same form of answer: a code, a message, an id, and the usual headers.
import { once } from "node:events";
import type { Server } from "node:http";
import { connect, type Socket } from "node:net";
import api from "@chimera/acp-schema/openapi.json" with { type: "json" };
import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../src/index.js";
import { createEarly, listen } from "../src/node.js";
import { sendRaw, serve } from "./fixture.js";

const CODES: readonly string[] = api.components.schemas.ErrorReply.properties.error.enum;

function expectRefusal({ text }: { text: string }, status: number, code: string, id?: string): void {
  const [head = "", body = ""] = text.split("\r\n\r\n");
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  const { error, message, request_id } = JSON.parse(body);
  expect([error, message]).toEqual([code, expect.any(String)]);
  expect(CODES).toContain(error);
  expect(request_id).toMatch(id === undefined ? /^[0-9a-f]{8}$/ : new RegExp(`^${id}$`));
  expect(head.toLowerCase()).toContain(`\r\nx-request-id: ${request_id}`);
  for (const line of ["content-type: application/json", "x-content-type-options: nosniff", "cache-control: no-store"])
    expect(head.toLowerCase()).toContain(`\r\n${line}`);
}

const ID = "X-Request-Id: mine.1\r\n";
const UPGRADE = `Upgrade: websocket\r\nConnection: Upgrade\r\n${ID}`;

test.each([
  ["a Host that is none", `GET /sessions HTTP/1.1\r\nHost: a b\r\n${ID}\r\n`, 403, "bad_host"],
  ["a Host with a name", `GET /sessions HTTP/1.1\r\nHost: me@localhost\r\n${ID}\r\n`, 403, "bad_host"],
  ["no Host", `GET /sessions HTTP/1.1\r\n${ID}\r\n`, 403, "bad_host"],
  ["a target that makes no URL", `GET http://[ HTTP/1.1\r\nHost: localhost\r\n${ID}\r\n`, 400, "bad_request"],
  ["an upgrade with a Host that is none", `GET /acp HTTP/1.1\r\nHost: a b\r\n${UPGRADE}\r\n`, 403, "bad_host"],
])("%s is refused under the caller's own id", async (_, request, status, code) => {
  const served = await serve();
  expectRefusal(await sendRaw(served.port, request), status, code, "mine.1");
});

test.each([
  ["no request of HTTP", "what is this\r\n\r\n", 400, "bad_request"],
  [
    "too many headers",
    `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
    431,
    "headers_too_large",
  ],
])("%s is refused, and the connection closed", async (_, bytes, status, code) => {
  const served = await serve();
  expectRefusal(await sendRaw(served.port, bytes), status, code);
  expect((await served.call("GET", "/health")).status).toBe(200);
});

test("malformed bytes during an answer are not answered", async () => {
  const served = await serve();
  const stream = "GET /events?list=true HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer master-secret\r\n\r\n";
  const socket = connect(served.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let text = "";
  socket.setEncoding("latin1").on("error", () => {});
  const closed = once(socket, "close");
  socket.on("data", (chunk) => {
    if (text === "") socket.write("garbage\r\n\r\n");
    text += chunk;
  });
  socket.write(stream);
  await closed;
  expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
});

/** A server before its app is loaded, until the function returned is called. */
async function listenEarly() {
  const served = await serve();
  let load = () => {};
  const loading = new Promise<void>((resolve) => {
    load = resolve;
  });
  const app = async () => {
    await loading;
    return createApp({ name: "otter", version: "1", sessions: served.sessions, defaultCwd: served.cwd });
  };
  const early = createEarly({ version: "1", startedAt: 0 });
  const { port, server, close } = await listen(app, { host: "127.0.0.1", early });
  onTestFinished(async () => {
    load();
    await close();
  });
  return { port, server, load };
}

/** Sends one request and gives the socket at the server's end. */
async function arrived(server: Server, port: number, bytes: string) {
  const arriving = once(server, "connection") as Promise<[Socket]>;
  const answered = sendRaw(port, bytes);
  return { socket: (await arriving)[0], answered };
}

test("a request that comes too slowly gets 408", async () => {
  const { port, server, load } = await listenEarly();
  load();
  const { socket, answered } = await arrived(server, port, "GET / HTTP/1.1\r\n");
  // Node does this after the time limit.
  server.emit("clientError", Object.assign(new Error("late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket);
  expectRefusal(await answered, 408, "request_timeout");
});

test("a probe that comes before the app has an id too", async () => {
  const { port } = await listenEarly();
  const { text } = await sendRaw(port, `GET /readyz HTTP/1.1\r\nHost: localhost\r\n${ID}\r\n`);
  expect(text).toMatch(/^HTTP\/1.1 503 /);
  expect(text).toMatch(/^x-request-id: mine\.1\r$/im);
  expect(text).toMatch(/^retry-after: 1\r$/im);
  const body = JSON.parse(/\{.*\}/.exec(text)?.[0] ?? "");
  expect(body).toMatchObject({ status: "starting", error: "starting", request_id: "mine.1" });
});
