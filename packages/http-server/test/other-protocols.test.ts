// Clients ask for other protocols than the one that is spoken here, some with every request, and balancers speak an older one.
import { connect } from "node:net";
import { text as readText } from "node:stream/consumers";
import { expect, test } from "vitest";
import { MASTER, newSession, sendRaw, serve } from "./fixture.js";

const AUTH = `Host: localhost\r\nAuthorization: Bearer ${MASTER}\r\n`;
const JSON_BODY = "Content-Type: application/json\r\nContent-Length: 2\r\n";
const H2C = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n";
const KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const SOCKET = "Connection: Upgrade\r\nUpgrade: websocket\r\n";

function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}

test.each([
  ["HTTP/2", H2C],
  ["TLS", "Connection: upgrade\r\nUpgrade: TLS/1.0\r\n"],
  ["one of several", "Connection: keep-alive, Upgrade\r\nUpgrade: websocket, h2c\r\n"],
  ["a WebSocket with a body", SOCKET],
])("a request that asks for %s is answered as if it did not, after those before it", async (_, asking) => {
  const served = await serve();
  const first = `GET /health HTTP/1.1\r\n${AUTH}\r\n`;
  const one = `POST /session HTTP/1.1\r\n${AUTH}${asking}${JSON_BODY}\r\n{}`;
  const socket = connect(served.port, "127.0.0.1");
  socket.write(`${first}${first}${one}`);
  expect(statuses(await readText(socket))).toEqual([200, 200, 201]);
  expect(served.sessions.live()).toHaveLength(1);
});

test("its body may come later, and in chunks", async () => {
  const served = await serve();
  const socket = connect(served.port, "127.0.0.1");
  socket.write(
    `POST /session HTTP/1.1\r\n${AUTH}${H2C}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{`,
  );
  await new Promise((resolve) => setTimeout(resolve, 30));
  socket.end("\r\n1\r\n}\r\n0\r\n\r\n");
  expect(statuses(await readText(socket))).toEqual([201]);
});

test.each([
  ["without a key", `GET /acp HTTP/1.1\r\n${AUTH}${SOCKET}Sec-WebSocket-Version: 13\r\n\r\n`],
  ["of a version that is not", `GET /acp HTTP/1.1\r\n${AUTH}${SOCKET}${KEY}Sec-WebSocket-Version: 7\r\n\r\n`],
  [
    "with a protocol twice",
    `GET /acp HTTP/1.1\r\n${AUTH}${SOCKET}${KEY}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: a, a\r\n\r\n`,
  ],
  ["to what is a list", `GET /sessions HTTP/1.1\r\n${AUTH}${SOCKET}${KEY}Sec-WebSocket-Version: 13\r\n\r\n`],
  [
    "to a stream without an end",
    `GET /session/{id}/events HTTP/1.1\r\n${AUTH}${SOCKET}${KEY}Sec-WebSocket-Version: 13\r\n\r\n`,
  ],
])("a WebSocket %s is refused with a code", async (_, bytes) => {
  const served = await serve({ acp: () => ({ closed: Promise.resolve(), close: async () => {}, rewind: () => {} }) });
  const { id } = await newSession(served);
  const { status, text } = await sendRaw(served.port, bytes.replace("{id}", id));
  expect(status).toBe(400);
  expect(text.toLowerCase()).toContain("\r\nx-content-type-options: nosniff\r\n");
  expect(JSON.parse(text.split("\r\n\r\n")[1]!)).toMatchObject({
    error: "bad_upgrade",
    request_id: expect.any(String),
  });
});

test.each(["localhost:22", "/sessions"])("a tunnel to %s is refused", async (target) => {
  const { port, call } = await serve();
  await call("GET", "/health");
  const { status, text } = await sendRaw(port, `CONNECT ${target} HTTP/1.1\r\n${AUTH}\r\n`);
  expect([status, text]).toEqual([405, expect.stringContaining('"method_not_allowed"')]);
});

test("an expectation that nobody knows is passed over", async () => {
  const { port, call } = await serve();
  await call("GET", "/health");
  const request = `POST /session HTTP/1.1\r\n${AUTH}Expect: 200-ok\r\nConnection: close\r\n${JSON_BODY}\r\n{}`;
  expect((await sendRaw(port, request)).status).toBe(201);
});

test.each(["GET", "HEAD"])(
  "a balancer asks by %s whether the server is there, in HTTP/1.0 and by no name",
  async (method) => {
    const { port } = await serve();
    for (const path of ["/health", "/healthz", "/ping", "/readyz"])
      expect((await sendRaw(port, `${method} ${path} HTTP/1.0\r\n\r\n`)).status).toBe(200);
    expect((await sendRaw(port, `${method} /health HTTP/1.1\r\nHost: lb.example\r\n\r\n`)).status).toBe(200);
    const { status, text } = await sendRaw(port, `GET /sessions HTTP/1.0\r\nAuthorization: Bearer ${MASTER}\r\n\r\n`);
    expect([status, text]).toEqual([403, expect.stringContaining('"bad_host"')]);
  },
);
