// ACP over the network with the built programs: the official client over HTTP, and a stdio client through `acp --connect`, while the link is
// cut and the server is killed. CHIMERA_REMOTE_ROUNDS=50 takes longer.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { text as readAll } from "node:stream/consumers";
import * as sdk from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { serverEvents } from "@chimera/client";
import { resumingFetch } from "@chimera/client/acp";
import { expect, onTestFinished, test } from "vitest";
import { startLink } from "./link.js";
import { connect, type Peer } from "./peer.js";
import { addressOf, type Program, startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

const ROUNDS = Number(process.env["CHIMERA_REMOTE_ROUNDS"] ?? 5);
const WORDS = 400;
const text = Array.from({ length: WORDS }, (_, n) => `w${n} `).join("");

function surroundings() {
  const cwd = scratchTree({ "README.md": "# x\n" });
  const home = scratchTree({});
  const script = join(home, "script.json");
  const turn = { steps: [{ reply: [{ text, chunks: WORDS, delayMs: 2 }] }] };
  writeFileSync(script, JSON.stringify({ repeat: true, turns: [turn] }));
  return { cwd, home, script };
}

const said = (frames: Peer["frames"]) =>
  frames
    .filter(({ params }) => params?.update?.sessionUpdate === "agent_message_chunk")
    .map(({ params }) => params.update.content.text)
    .join("");

test("a stdio client through acp --connect continues when the link is cut and the server is killed", {
  timeout: 60_000 + ROUNDS * 20_000,
}, async () => {
  const { cwd, home, script } = surroundings();
  const token = "token-of-this-test";
  writeFileSync(join(home, "token"), token, { mode: 0o600 });
  const start = (port: number) =>
    startProgram(
      "otter",
      ["serve", "--port", String(port), "--model", `scripted:${script}`, "--auth-token-file", join(home, "token")],
      {},
      { cwd, home },
    );
  let server: Program = start(0);
  const port = Number(new URL(await addressOf(server)).port);
  const link = await startLink(() => port);
  const relay = startProgram(
    "otter",
    ["acp", "--connect", `http://127.0.0.1:${link.port}`, "--token-file", join(home, "token")],
    {},
    { cwd, home: scratchTree({}) },
  );
  const peer = connect(relay);
  const hello = await peer.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  expect(hello.result?.agentInfo?.name).toBe("otter");
  const { result } = await peer.request("session/new", { cwd, mcpServers: [] });
  const { sessionId } = result;
  const prompt = () => peer.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "talk" }] });

  for (let round = 0; round < ROUNDS; round++) {
    const from = peer.frames.length;
    const answer = prompt();
    for (let cuts = 0; cuts < 4; cuts++) {
      await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 300));
      link.cut();
    }
    expect((await answer).result).toMatchObject({ stopReason: "end_turn" });
    expect(said(peer.frames.slice(from))).toBe(text);
  }

  // The server dies in the middle of a turn: no text is sent twice, the turn ends, and the next one is whole.
  const from = peer.frames.length;
  const answer = prompt();
  await peer.find((frame) => peer.frames.indexOf(frame) > from + 50);
  server.child.kill("SIGKILL");
  await server.exited;
  server = start(port);
  await addressOf(server);
  await answer;
  const part = said(peer.frames.slice(from));
  expect(text.startsWith(part) && part.length > 0).toBe(true);
  const next = peer.frames.length;
  expect((await prompt()).result).toMatchObject({ stopReason: "end_turn" });
  expect(said(peer.frames.slice(next))).toBe(text);
  // No question is answered twice.
  const answered = peer.frames.filter(({ id, method }) => id !== undefined && method === undefined).map(({ id }) => id);
  expect(new Set(answered).size).toBe(answered.length);
  relay.child.stdin.end();
  expect(await relay.exited).toBe(0);
});

test("acp --connect without an address joins the server of this machine, and says when there is none", async () => {
  const { cwd, home, script } = surroundings();
  const alone = startProgram("otter", ["acp", "--connect"], {}, { cwd, home });
  expect(await alone.exited).toBe(2);
  expect(alone.stderr()).toContain("no otter server runs here");
  const server = startProgram(
    "otter",
    ["serve", "--port", "0", "--model", `scripted:${script}`, "--auth-token", "auto"],
    {},
    { cwd, home },
  );
  const address = await addressOf(server);
  const peer = connect(startProgram("otter", ["acp", "--connect"], {}, { cwd, home }));
  await peer.request("initialize", { protocolVersion: 1 });
  const { result } = await peer.request("session/new", { cwd, mcpServers: [] });
  const run = join(home, "run", `otter-${new URL(address).port}.token`);
  expect(existsSync(run)).toBe(true);
  const headers = { authorization: `Bearer ${readFileSync(run, "utf8").trim()}` };
  const shared = await fetch(`${address}/session/${result.sessionId}`, { headers });
  expect(shared.status).toBe(200);
  const wrong = startProgram("otter", ["acp", "--connect", "not an address"], {}, { cwd, home });
  expect(await wrong.exited).toBe(2);
});

test("acp --connect answers what was piped in, although the pipe is closed at once", async () => {
  const { cwd, home, script } = surroundings();
  const server = startProgram("otter", ["serve", "--port", "0", "--model", `scripted:${script}`], {}, { cwd, home });
  const relay = startProgram("otter", ["acp", "--connect", await addressOf(server)], {}, { cwd, home });
  const line = (id: number, method: string, params: object) =>
    `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
  relay.child.stdin.end(
    line(1, "initialize", { protocolVersion: 1 }) + line(2, "session/new", { cwd, mcpServers: [] }),
  );
  const answers = await readAll(relay.child.stdout);
  const ids = answers.match(/^\{"jsonrpc":"2.0","id":\d,"result"/gm)?.map((start) => start.slice(22, 23));
  expect(ids).toEqual(["1", "2"]);
  expect(await relay.exited).toBe(0);
});

test("acp --connect takes a Unix socket, and ends with its client", async () => {
  const { cwd, home, script } = surroundings();
  const path = join(home, "otter.sock");
  const flags = ["--listen", `unix:${path}`, "--model", `scripted:${script}`];
  const server = startProgram("otter", ["serve", ...flags], {}, { cwd, home });
  await expect.poll(server.stderr, { timeout: 20_000 }).toContain("listening on unix:");
  const client = startProgram("otter", ["acp", "--connect", `unix:${path}`], {}, { cwd, home });
  const peer = connect(client);
  await peer.request("initialize", { protocolVersion: 1 });
  const { result } = await peer.request("session/new", { cwd, mcpServers: [] });
  const prompt = [{ type: "text", text: "hello" }];
  const answer = await peer.request("session/prompt", { sessionId: result.sessionId, prompt });
  expect(answer.result.stopReason).toBe("end_turn");
  client.child.stdin.end();
  expect(await client.exited).toBe(0);
  const nowhere = startProgram("otter", ["acp", "--connect", `unix:${path}-2`], {}, { cwd, home });
  expect(await nowhere.exited).toBe(2);
  expect(nowhere.stderr()).toContain("ENOENT");
  // A signal ends it as quietly as its client does.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    const stopped = startProgram("otter", ["acp", "--connect", `unix:${path}`], {}, { cwd, home });
    await connect(stopped).request("initialize", { protocolVersion: 1 });
    stopped.child.kill(signal);
    expect([signal, await stopped.exited, stopped.stderr()]).toEqual([signal, 0, ""]);
  }
  // A server that ends takes its clients along.
  const left = startProgram("otter", ["acp", "--connect", `unix:${path}`], {}, { cwd, home });
  await connect(left).request("initialize", { protocolVersion: 1 });
  server.child.kill("SIGTERM");
  expect(await left.exited).toBe(0);
});

test("the stream of a session that is closed ends, and one that is opened again has a stream again", async () => {
  const { cwd, home, script } = surroundings();
  const flags = ["--port", "0", "--model", `scripted:${script}`];
  const address = await addressOf(startProgram("otter", ["serve", ...flags], {}, { cwd, home }));
  const peer = connect(startProgram("otter", ["acp", "--connect", address], {}, { cwd, home }));
  await peer.request("initialize", { protocolVersion: 1 });
  const streams = async () =>
    Number(/^otter_streams (\d+)$/m.exec(await (await fetch(`${address}/metrics`)).text())?.[1]);
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await peer.request("session/new", { cwd, mcpServers: [] })).result.sessionId);
  // One for what belongs to no session.
  await expect.poll(streams).toBe(4);
  for (const sessionId of ids) expect((await peer.request("session/close", { sessionId })).error).toBeUndefined();
  await expect.poll(streams, { timeout: 20_000 }).toBe(1);
  const [sessionId] = ids;
  await peer.request("session/resume", { sessionId, cwd, mcpServers: [] });
  const prompt = [{ type: "text", text: "talk" }];
  expect((await peer.request("session/prompt", { sessionId, prompt })).result.stopReason).toBe("end_turn");
  expect(said(peer.frames)).toBe(text);
});

test("the official client over resumingFetch: 3 x 2,000 updates under 20 cuts, nothing lost, nothing doubled", {
  timeout: 120_000,
}, async () => {
  const { cwd, home } = surroundings();
  const script = join(home, "long.json");
  const long = Array.from({ length: 2000 }, (_, n) => `u${n} `).join("");
  const turn = { steps: [{ reply: [{ text: long, chunks: 2000, delayMs: 1 }] }] };
  writeFileSync(script, JSON.stringify({ repeat: true, turns: [turn] }));
  const server = startProgram(
    "otter",
    ["serve", "--port", "0", "--no-coalesce", "--model", `scripted:${script}`],
    {},
    { cwd, home },
  );
  const port = Number(new URL(await addressOf(server)).port);
  const link = await startLink(() => port);
  const stream = createHttpStream(`http://127.0.0.1:${link.port}/acp`, { fetch: resumingFetch() });
  const texts = new Map<string, string[]>();
  const { agent } = sdk
    .client()
    .onNotification("session/update", ({ params: { sessionId, update } }) => {
      if (update.sessionUpdate !== "agent_message_chunk" || update.content.type !== "text") return;
      texts.set(sessionId, [...(texts.get(sessionId) ?? []), update.content.text]);
    })
    .connect(stream as never);
  await agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const sessions = await Promise.all([1, 2, 3].map(() => agent.request("session/new", { cwd, mcpServers: [] })));
  let isOver = false;
  const cutting = (async () => {
    for (let cuts = 0; cuts < 20 && !isOver; cuts++) {
      await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 150));
      link.cut();
    }
  })();
  const answers = await Promise.all(
    sessions.map(({ sessionId }) =>
      agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "talk" }] }),
    ),
  );
  isOver = true;
  await cutting;
  expect(answers.map(({ stopReason }) => stopReason)).toEqual(["end_turn", "end_turn", "end_turn"]);
  const digest = (value: string) => createHash("sha256").update(value).digest("hex");
  for (const { sessionId } of sessions) expect(digest((texts.get(sessionId) ?? []).join(""))).toBe(digest(long));
});

test("what is sent on a stream that breaks before anything of it has come is sent again", {
  timeout: 30_000,
}, async () => {
  const { cwd, home } = surroundings();
  const server = startProgram("otter", ["serve", "--port", "0", "--model", "offline"], {}, { cwd, home });
  let isLost = false;
  /** The first message fails once; the first stream is opened, not read while the server writes to it, and then breaks. */
  const lossy: typeof fetch = async (input, init) => {
    const isStream = (init?.method ?? "GET") === "GET";
    if (!isStream && !isLost) {
      isLost = true;
      throw new TypeError("the link broke");
    }
    const response = await fetch(input, init);
    if (!isStream || broken > 0) return response;
    broken++;
    const body = new ReadableStream({
      async start(controller) {
        await new Promise((resolve) => setTimeout(resolve, 1500));
        await response.body?.cancel();
        controller.error(new TypeError("the link broke"));
      },
    });
    return new Response(body, { headers: response.headers });
  };
  let broken = 0;
  const stream = createHttpStream(`${await addressOf(server)}/acp`, { fetch: resumingFetch({ fetch: lossy }) });
  const { agent } = sdk.client().connect(stream as never);
  await agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] });
  expect(sessionId).toMatch(/^otter-/);
  expect([isLost, broken]).toEqual([true, 1]);
});

test("after a kill the connection is unknown, and another one goes on from the number that the client has", {
  timeout: 60_000,
}, async () => {
  const { cwd, home } = surroundings();
  const script = join(home, "slow.json");
  const words = Array.from({ length: 100 }, (_, n) => `v${n} `);
  const turn = { steps: [{ reply: [{ text: words.join(""), chunks: 100, delayMs: 10 }] }] };
  writeFileSync(script, JSON.stringify({ repeat: true, turns: [turn] }));
  const start = (port: number) => {
    const args = ["serve", "--port", String(port), "--no-coalesce", "--model", `scripted:${script}`];
    return startProgram("otter", args, {}, { cwd, home });
  };
  const server = start(0);
  const address = await addressOf(server);
  const post = (message: object, headers: Record<string, string> = {}) =>
    fetch(`${address}/acp`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
  const initialize = async () => {
    const params = { protocolVersion: 1, clientCapabilities: {} };
    const response = await post({ id: 1, method: "initialize", params });
    return { "acp-connection-id": response.headers.get("acp-connection-id")! };
  };
  interface Frame {
    readonly id: number | null;
    // biome-ignore lint/suspicious/noExplicitAny: a message is whatever arrived.
    readonly message: any;
  }
  /** The messages of a stream until it ends or `isEnough`. */
  const read = async (headers: Record<string, string>, isEnough: (frames: readonly Frame[]) => boolean) => {
    const stop = new AbortController();
    const response = await fetch(`${address}/acp`, {
      headers: { accept: "text/event-stream", ...headers },
      signal: stop.signal,
    });
    expect(response.status).toBe(200);
    const frames: Frame[] = [];
    try {
      for await (const events of serverEvents(response, stop.signal)) {
        for (const { id, data } of events) frames.push({ id: Number(id) || null, message: JSON.parse(data) });
        if (isEnough(frames)) break;
      }
    } catch {
      // The server was killed.
    }
    stop.abort();
    return frames;
  };
  const textOf = (frames: readonly Frame[]) =>
    frames.flatMap(({ message }) => message.params?.update?.content?.text ?? []).join("");

  const C = await initialize();
  const opened = read(C, (frames) => frames.length > 0);
  await post({ id: 2, method: "session/new", params: { cwd, mcpServers: [] } }, C);
  const { sessionId } = (await opened)[0]!.message.result;
  const S = { ...C, "acp-session-id": sessionId };
  const talking = read(S, (frames) => frames.length >= 60);
  await post({ id: 3, method: "session/prompt", params: { sessionId, prompt: [{ type: "text", text: "talk" }] } }, S);
  const seen = (await talking).slice(0, 30);
  const last = seen.findLast(({ id }) => id !== null)!.id!;
  server.child.kill("SIGKILL");
  await server.exited;
  await addressOf(start(Number(new URL(address).port)));

  const gone = await fetch(`${address}/acp`, {
    headers: { accept: "text/event-stream", ...S, "last-event-id": String(last) },
  });
  expect(gone.status).toBe(404);
  const D = { ...(await initialize()), "acp-session-id": sessionId };
  // The turn is closed as after any crash, and what was kept of it is whole.
  await (await fetch(`${address}/sessions/${sessionId}/events`)).text();
  const { events } = (await (await fetch(`${address}/sessions/${sessionId}`)).json()) as {
    events: { seq: number; type: string; metadata: { text?: string } }[];
  };
  expect(events.filter(({ type }) => type === "agent_result")).toHaveLength(1);
  const kept = events.flatMap(({ type, metadata }) => (type === "text_delta" ? (metadata.text ?? "") : [])).join("");
  expect(words.join("").startsWith(kept) && kept.length > textOf(seen).length).toBe(true);
  const resumed = read({ ...D, "last-event-id": String(last) }, (all) => textOf(seen) + textOf(all) === kept);
  await post({ id: 2, method: "session/resume", params: { sessionId, cwd, mcpServers: [] } }, D);
  const frames = await resumed;
  expect(textOf(seen) + textOf(frames)).toBe(kept);
  const ids = [...seen, ...frames].flatMap(({ id }) => id ?? []);
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
});

/** A server of ACP over HTTP that sends `frames` on every stream as fast as they are taken, and answers no post before `release`. */
async function startFlood(frames: readonly string[]) {
  const posted: string[] = [];
  let sent = 0;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = createServer(async (request, response) => {
    response.on("error", () => {});
    if (request.method === "POST") {
      const { id, method } = JSON.parse(await readAll(request));
      if (method === "initialize") {
        response.setHeader("Acp-Connection-Id", "one");
        return void response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { protocolVersion: 1 } }));
      }
      posted.push(method);
      await released;
      return void response.writeHead(202).end();
    }
    if (request.method !== "GET") return void response.writeHead(202).end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const [at, frame] of frames.entries()) {
      sent += frame.length;
      if (!response.write(`id: c${at + 1}\ndata: ${frame}\n\n`)) await once(response, "drain");
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as { port: number }).port, posted, release, sent: () => sent };
}

/** Waits until a number has not changed for a second. */
async function settled(read: () => number): Promise<number> {
  for (let last = read(); ; last = read()) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    if (read() === last) return last;
  }
}

test("acp --connect takes no more from either side than the other side takes", { timeout: 60_000 }, async () => {
  const MANY = 400;
  const padding = "x".repeat(64 * 1024);
  const frame = (at: number) => JSON.stringify({ jsonrpc: "2.0", method: "_it/note", params: { at, padding } });
  const server = await startFlood(Array.from({ length: MANY }, (_, at) => frame(at)));
  const relay = startProgram("otter", ["acp", "--connect", `http://127.0.0.1:${server.port}`]);
  relay.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} })}\n`);
  await expect.poll(server.sent, { timeout: 20_000 }).toBeGreaterThan(0);
  // What the sockets of both ends hold is some megabytes.
  expect(await settled(server.sent)).toBeLessThan(16 * 1024 * 1024);

  for (let at = 0; at < MANY; at++) relay.child.stdin.write(`${frame(at)}\n`);
  expect(await settled(() => relay.child.stdin.writableLength)).toBeGreaterThan(12 * 1024 * 1024);

  const { frames } = connect(relay);
  await expect.poll(() => frames.length, { timeout: 20_000 }).toBe(MANY + 1);
  expect(frames.slice(1).map(({ params }) => params.at)).toEqual(Array.from({ length: MANY }, (_, at) => at));
  server.release();
  await expect.poll(() => server.posted.length, { timeout: 30_000 }).toBe(MANY);
});
