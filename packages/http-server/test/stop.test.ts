import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { MASTER, newSession, serve } from "./fixture.js";

/** Sends the beginning of a prompt; the function returned sends the rest, and gives all that was answered. */
async function beginPrompt(port: number, id: string): Promise<() => Promise<string>> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    text += chunk;
  });
  const closed = once(socket, "close");
  await once(socket, "connect");
  socket.write(`POST /sessions/${id}/turns HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${MASTER}\r\n`);
  return async () => {
    socket.write('Content-Type: application/json\r\nContent-Length: 15\r\n\r\n{"prompt":"hi"}');
    await closed;
    return text;
  };
}

test("a request that arrives while the server stops gets 503 with Retry-After", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  const finish = await beginPrompt(served.port, id);
  await served.call("GET", "/health");
  const stopped = served.stop();
  const answer = await finish();
  expect(answer).toMatch(/^HTTP\/1\.1 503 /);
  expect(answer).toMatch(/^retry-after: 1\r$/im);
  expect(answer).toMatch(/^connection: close\r$/im);
  expect(answer).toContain('"error":"shutting_down"');
  await stopped;
});

test("a request whose session is unloaded meanwhile gets 503 with Retry-After", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  const session = served.sessions.find(id)!;
  void session.close("eviction");
  const { status, headers, body } = await served.call("POST", `/sessions/${id}/turns`, { body: { prompt: "hi" } });
  expect([status, headers.get("retry-after"), body.error]).toEqual([503, "1", "session_closed"]);
});
