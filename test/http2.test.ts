// TLS speaks HTTP/2 with those who offer it and HTTP/1.1 with all others: events, and ACP with its streams and sockets.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { request } from "node:https";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { addressOf, startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

const T = "one-token-for-all";
const auth = { authorization: `Bearer ${T}` };

async function serveTls() {
  const dir = scratchTree({});
  const [cert, key] = [join(dir, "a.crt"), join(dir, "a.key")];
  const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", key, "-out", cert];
  const named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  expect(spawnSync("openssl", [...args, ...named]).status).toBe(0);
  const listen = ["--listen", "https://127.0.0.1:0", "--tls-cert", cert, "--tls-key", key];
  const program = startProgram("otter", ["serve", ...listen, "--model", "offline"], { OTTER_SERVER_TOKEN: T });
  return { program, url: await addressOf(program), ca: readFileSync(cert) };
}

/** One request; its headers, and its text as far as it came. */
function ask(client: ClientHttp2Session, method: string, path: string, more: Record<string, string> = {}, body = "") {
  const json = body === "" ? {} : { "content-type": "application/json" };
  const headers = { ":method": method, ":path": path, ...auth, ...json, ...more };
  const stream: ClientHttp2Stream = client.request(headers, { endStream: body === "" });
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  stream.on("error", () => {});
  if (body !== "") stream.end(body);
  const answered = once(stream, "response").then(([headers]) => headers as Record<string, string>);
  return { stream, answered, ended: once(stream, "close"), text: () => text };
}

test("events and ACP, 60 streams over one connection, and an end that leaves no client waiting", {
  tags: ["needs-openssl"],
  timeout: 60_000,
}, async () => {
  const { program, url, ca } = await serveTls();
  const client = connect(url, { ca });
  onTestFinished(() => client.destroy());
  client.on("error", () => {});
  await once(client, "connect");
  expect(client.alpnProtocol).toBe("h2");

  const made = ask(client, "POST", "/session", {}, "{}");
  expect((await made.answered)[":status"]).toBe(201);
  await made.ended;
  const { session_id: id } = JSON.parse(made.text());

  const streams = Array.from({ length: 60 }, () =>
    ask(client, "GET", `/sessions/${id}/events`, { accept: "text/event-stream" }),
  );
  for (const { answered } of streams) {
    const headers = await answered;
    expect(headers).toMatchObject({ ":status": 200, "content-type": "text/event-stream" });
    expect(headers).not.toHaveProperty("connection");
  }
  const turn = ask(client, "POST", `/sessions/${id}/turns`, {}, JSON.stringify({ prompt: "hello" }));
  expect((await turn.answered)[":status"]).toBe(202);
  for (const { text } of streams) await expect.poll(text, { timeout: 20_000 }).toContain("agent_result");

  const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } };
  const begun = ask(client, "POST", "/acp", {}, JSON.stringify(hello));
  const connection = { "acp-connection-id": (await begun.answered)["acp-connection-id"]! };
  const rest = ask(client, "GET", "/acp", { ...connection, accept: "text/event-stream" });
  const updates = ask(client, "GET", "/acp", { ...connection, "acp-session-id": id, accept: "text/event-stream" });
  expect((await updates.answered)[":status"]).toBe(200);
  const send = (message: object, more = {}) =>
    ask(client, "POST", "/acp", { ...connection, ...more }, JSON.stringify({ jsonrpc: "2.0", ...message })).answered;
  const resume = { id: 2, method: "session/resume", params: { sessionId: id, cwd: program.cwd, mcpServers: [] } };
  expect((await send(resume, { "acp-session-id": id }))[":status"]).toBe(202);
  await expect.poll(rest.text).toContain('"id":2,"result"');
  const prompt = {
    id: 3,
    method: "session/prompt",
    params: { sessionId: id, prompt: [{ type: "text", text: "again" }] },
  };
  await send(prompt, { "acp-session-id": id });
  await expect
    .poll(updates.text, { timeout: 20_000 })
    .toMatch(/id: \d+\ndata: .*"id":3,"result":\{"stopReason":"end_turn"/);

  const foreign = connect(url, { ca });
  onTestFinished(() => foreign.destroy());
  foreign.on("error", () => {});
  expect((await ask(foreign, "GET", "/sessions", { ":authority": "evil.example" }).answered)[":status"]).toBe(403);
  expect((await ask(foreign, "GET", "/sessions", { authorization: "Bearer no" }).answered)[":status"]).toBe(401);

  program.child.kill("SIGTERM");
  expect(await program.exited).toBe(0);
});

test("HTTP/1.1 and WebSockets on the same port", { tags: ["needs-openssl"], timeout: 60_000 }, async () => {
  const { program, url, ca } = await serveTls();
  const response = await new Promise<{ version: string; status: number | undefined }>((resolve, reject) => {
    const asked = request(`${url}/sessions`, { ca, headers: auth }, (incoming) => {
      incoming.resume();
      resolve({ version: incoming.httpVersion, status: incoming.statusCode });
    });
    asked.on("error", reject).end();
  });
  expect(response).toEqual({ version: "1.1", status: 200 });
  const socket = new WebSocket(`${url.replace("https", "wss")}/acp`, { ca, headers: auth });
  onTestFinished(() => socket.terminate());
  await once(socket, "open");
  const answer = once(socket, "message");
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } }));
  expect(JSON.parse(String((await answer)[0]))).toMatchObject({ id: 1, result: { agentInfo: { name: "otter" } } });
  program.child.kill("SIGTERM");
  expect(await program.exited).toBe(0);
});
