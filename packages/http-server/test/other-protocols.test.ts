// Clients ask for other protocols than the one that is spoken here, some with every request, and balancers speak an older one.
import { connect } from "node:net";
import { text as readText } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { LIMITS } from "../src/index.js";
import { eventually, MASTER, newSession, sendRaw, serve } from "./fixture.js";

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
])("a request that asks for %s is answered like any other, after the earlier ones", async (_, asking) => {
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
  let answer = "";
  socket.setEncoding("latin1").on("data", (text) => {
    answer += text;
  });
  // A client that ends its half of the connection before the answer has left.
  socket.write("\r\n1\r\n}\r\n0\r\n\r\n");
  await expect.poll(() => statuses(answer)).toEqual([201]);
  socket.destroy();
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

/** Sends one request, reads the answer, and never closes its own end. */
async function hold(port: number, bytes: string): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  let text = "";
  socket.setEncoding("latin1").on("error", () => {});
  socket.on("data", (chunk) => {
    text += chunk;
  });
  socket.write(bytes);
  await new Promise((resolve) => socket.once("end", resolve).once("close", resolve));
  return text;
}

test.each([
  ["a tunnel", "CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\n\r\n", 405],
  ["a WebSocket", `GET /acp HTTP/1.1\r\nHost: evil\r\n${SOCKET}${KEY}Sec-WebSocket-Version: 13\r\n\r\n`, 403],
  ["what HTTP cannot read", "what is this\r\n\r\n", 400],
])(
  "a client that is refused %s and keeps its end open holds neither a connection nor the server's close",
  async (_, bytes, status) => {
    const served = await serve();
    await served.call("GET", "/health");
    const before = await served.connections();
    expect(statuses(await hold(served.port, bytes))).toEqual([status]);
    await eventually(async () => (await served.connections()) <= before, 5000);
    expect(statuses(await hold(served.port, bytes))).toEqual([status]);
    const began = performance.now();
    await served.stop();
    expect(performance.now() - began).toBeLessThan(4000);
  },
);

test("refused WebSockets that clients keep open do not use up connections", async () => {
  const served = await serve({
    acp: () => ({ closed: new Promise(() => {}), close: async () => {}, rewind: () => {} }),
  });
  const accepted = connect(served.port, "127.0.0.1");
  onTestFinished(() => void accepted.destroy());
  let text = "";
  accepted.on("data", (chunk) => {
    text += chunk;
  });
  accepted.write(`GET /acp HTTP/1.1\r\n${AUTH}${SOCKET}${KEY}Sec-WebSocket-Version: 13\r\n\r\n`);
  await eventually(() => text.includes("101"));
  const asked = `GET /acp HTTP/1.1\r\nHost: evil\r\n${SOCKET}${KEY}Sec-WebSocket-Version: 13\r\n\r\n`;
  await Promise.all(Array.from({ length: LIMITS.connections + 10 }, () => hold(served.port, asked)));
  expect((await sendRaw(served.port, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")).status).toBe(200);
  expect(accepted.readyState).toBe("open");
});

test("a tunnel is refused after the requests before it on its connection are answered", async () => {
  const served = await serve();
  await served.call("GET", "/health");
  const before = `POST /session HTTP/1.1\r\n${AUTH}${JSON_BODY}\r\n{}`;
  const socket = connect(served.port, "127.0.0.1");
  socket.write(`${before}${before}CONNECT localhost:22 HTTP/1.1\r\n${AUTH}\r\n`);
  expect(statuses(await readText(socket))).toEqual([201, 201, 405]);
});

test.each([
  ["an upgrade", `GET /sessions HTTP/1.1\r\n${AUTH}${H2C}\r\n`],
  ["an upgrade with a part of its body", `POST /session HTTP/1.1\r\n${AUTH}${H2C}${JSON_BODY}\r\n`, "{"],
  ["a tunnel", `CONNECT localhost:22 HTTP/1.1\r\n${AUTH}\r\n`],
  ["a stream", `GET /events?list=true HTTP/1.1\r\n${AUTH}\r\n`],
])(
  "nothing stays open if a client goes while a stream and then %s wait on its connection",
  async (_, last, later = "") => {
    const served = await serve();
    const open = async () => /^otter_streams (\d+)$/m.exec((await served.call("GET", "/metrics")).text)?.[1];
    const stream = `GET /events?list=true HTTP/1.1\r\n${AUTH}\r\n`;
    const socket = connect(served.port, "127.0.0.1");
    socket.write(`${stream}${stream}${last}`);
    await eventually(async () => Number(await open()) >= 2);
    if (later !== "") socket.write(later);
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    await eventually(async () => (await open()) === "0", 5000);
  },
);

test("bytes that come while an upgrade waits are read after it was accepted", async () => {
  const served = await serve();
  const socket = connect(served.port, "127.0.0.1");
  const input = [{ role: "user", parts: [{ content: "wait" }] }];
  const body = JSON.stringify({ agent_name: "otter", mode: "sync", input });
  const run = `POST /runs HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  socket.write(`${run}POST /session HTTP/1.1\r\n${AUTH}${H2C}${JSON_BODY}\r\n`);
  // The run is in progress, so that the upgrade waits for it.
  await expect.poll(() => served.sessions.live().map(({ state }) => state)).toEqual(["running"]);
  socket.write("{");
  await new Promise((resolve) => setTimeout(resolve, 20));
  socket.write("}");
  await new Promise((resolve) => setTimeout(resolve, 20));
  for (const { id } of served.sessions.live()) await served.call("POST", `/sessions/${id}/cancel`);
  expect(statuses(await readText(socket))).toEqual([200, 201]);
});

test("a WebSocket of an unsupported version is refused with the supported ones", async () => {
  const served = await serve({ acp: () => ({ closed: Promise.resolve(), close: async () => {}, rewind: () => {} }) });
  const asked = `GET /acp HTTP/1.1\r\n${AUTH}${SOCKET}${KEY}Sec-WebSocket-Version: 12\r\n\r\n`;
  const { status, text } = await sendRaw(served.port, asked);
  expect([status, text.toLowerCase()]).toEqual([400, expect.stringContaining("\r\nsec-websocket-version: 13, 8\r\n")]);
});

test("an unknown Expect header is ignored", async () => {
  const { port, call } = await serve();
  await call("GET", "/health");
  const request = `POST /session HTTP/1.1\r\n${AUTH}Expect: 200-ok\r\nConnection: close\r\n${JSON_BODY}\r\n{}`;
  expect((await sendRaw(port, request)).status).toBe(201);
});

test.each(["GET", "HEAD"])("a balancer can probe with %s over HTTP/1.0 without a Host", async (method) => {
  const { port } = await serve();
  for (const path of ["/health", "/healthz", "/ping", "/readyz"])
    expect((await sendRaw(port, `${method} ${path} HTTP/1.0\r\n\r\n`)).status).toBe(200);
  expect((await sendRaw(port, `${method} /health HTTP/1.1\r\nHost: lb.example\r\n\r\n`)).status).toBe(200);
  const { status, text } = await sendRaw(port, `GET /sessions HTTP/1.0\r\nAuthorization: Bearer ${MASTER}\r\n\r\n`);
  expect([status, text]).toEqual([403, expect.stringContaining('"bad_host"')]);
});
