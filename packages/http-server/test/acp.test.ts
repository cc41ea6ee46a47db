// The official remote transport of ACP, over a real port: what each request is answered, and what a cut loses (nothing).
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { ferretDialect, otterDialect, serveAcp, standardDialect } from "@chimera/acp-server";
import { createFileStore, createMemoryStore } from "@chimera/event-store";
import { type Agent, createSessions } from "@chimera/session";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { createApp } from "../src/index.js";
import { LIMITS } from "../src/limits.js";
import { listen } from "../src/node.js";
import { blocksOf } from "./fixture.js";

// biome-ignore lint/suspicious/noExplicitAny: a message is whatever arrived.
type Loose = any;

const T = "master-token";
const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } };

/** Says the numbers asked for, then waits for `go` if the prompt says so. */
function counting(): { readonly agent: Agent; go(): void } {
  let go = () => {};
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  return {
    go: () => go(),
    async *agent({ prompt }, { ask, signal }) {
      const [count, word] = prompt.text.split(" ");
      if (word === "ask") {
        const call = { call_id: "call-1", tool: "Bash", args: { command: "ls" } };
        yield { type: "tool_call", metadata: { ...call, kind: "execute", title: "ls", locations: [] } } as AgentEvent;
        const { decision } = await ask({ ...call, risk: "low" });
        yield { type: "text_delta", metadata: { text: `decided ${decision}` } };
        return;
      }
      for (let n = 0; n < Number(count); n++) {
        yield { type: "text_delta", metadata: { text: `${n} ` } };
        if (n % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      if (word === "wait") await Promise.race([gate, aborted]);
    },
  };
}

/** Speaks until it is cancelled, and leaves the thread to others. */
const endless: Agent = async function* (_turn, { signal }) {
  for (let n = 0; !signal.aborted; n++) {
    yield { type: "text_delta", metadata: { text: `${n} ` } };
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
};

async function serve(agent: Agent = counting().agent, store: object = createMemoryStore()) {
  const sessions = createSessions({
    agent,
    store: store as never,
    disk: { readText: async () => "", writeText: async () => {} },
    prefix: "otter",
    defaults: { model: "none" },
    coalesce: false,
  });
  const app = createApp({
    name: "otter",
    version: "1.0.0",
    sessions,
    defaultCwd: "/",
    authToken: T,
    cors: ["https://app.example"],
    acp: ({ onlySession, ...peer }) =>
      serveAcp({
        ...peer,
        ...(onlySession !== undefined && {
          remote: { id: onlySession, facts: () => ({ mode: "review", approval: "" }) },
        }),
        sessions,
        program: { name: "otter", title: "Otter", version: "1.0.0" },
        dialects: [standardDialect, otterDialect, ferretDialect],
        native: "otter",
      }),
  });
  const server = await listen(app, { host: "127.0.0.1", port: 0 });
  onTestFinished(async () => {
    await sessions.shutdown();
    await app.close();
    await server.close();
  });
  const url = `http://127.0.0.1:${server.port}/acp`;
  return { app, sessions, url, port: server.port, server: server.server };
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** The memory in use after a garbage collection. */
function memory(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

type Served = Awaited<ReturnType<typeof serve>>;
type Headers = Record<string, string>;

const auth = { authorization: `Bearer ${T}` };
const json = { ...auth, "content-type": "application/json" };

function post({ url }: Served, message: unknown, headers: Headers = {}) {
  const body = typeof message === "string" ? message : JSON.stringify(message);
  return fetch(url, { method: "POST", headers: { ...json, ...headers }, body });
}

interface SseFrame {
  readonly id: string | null;
  readonly message: { id?: unknown; method?: string; params?: Loose; result?: Loose; error?: Loose };
}

/** A stream that keeps its frames. */
async function open(served: Served, headers: Headers) {
  const stop = new AbortController();
  const response = await fetch(served.url, {
    headers: { ...auth, accept: "text/event-stream", ...headers },
    signal: stop.signal,
  });
  const frames: SseFrame[] = [];
  let isEnded = false;
  const reading = (async () => {
    for await (const block of blocksOf(response)) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined) frames.push({ id: /^id: (.*)$/m.exec(block)?.[1] ?? null, message: JSON.parse(data) });
    }
  })().then(
    () => {
      isEnded = true;
    },
    () => {},
  );
  onTestFinished(() => stop.abort());
  return {
    status: response.status,
    frames,
    get isEnded() {
      return isEnded;
    },
    cut: async () => {
      stop.abort();
      await reading;
    },
    until: async (fits: (frame: SseFrame) => boolean) => {
      await expect.poll(() => frames.some(fits), { timeout: 30_000 }).toBe(true);
      return frames.find(fits)!;
    },
    texts: () => frames.flatMap(({ message }) => message.params?.update?.content?.text ?? []).join(""),
  };
}

async function connect(served: Served, headers: Headers = {}) {
  const response = await post(served, hello, headers);
  expect(response.status).toBe(200);
  return { "acp-connection-id": response.headers.get("acp-connection-id")! };
}

let lastId = 100;
const call = (method: string, params: object) => ({ jsonrpc: "2.0", id: ++lastId, method, params });

async function withSession(served: Served) {
  const C = await connect(served);
  const rest = await open(served, C);
  const making = call("session/new", { cwd: "/", mcpServers: [] });
  expect((await post(served, making, C)).status).toBe(202);
  const { message } = await rest.until(({ message: { id } }) => id === making.id);
  const sessionId: string = message.result.sessionId;
  return { C, S: { ...C, "acp-session-id": sessionId }, rest, sessionId };
}

const prompt = (sessionId: string, text: string) =>
  call("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
const numbers = (to: number) => Array.from({ length: to }, (_, n) => `${n} `).join("");
const isReply = (id: unknown) => (frame: SseFrame) => frame.message.id === id && frame.message.method === undefined;

describe("requests", () => {
  test("initialize is answered with the connection's id, and no cookie", async () => {
    const served = await serve();
    const response = await post(served, hello, { "content-type": "application/json; charset=utf-8" });
    expect(response.status).toBe(200);
    expect(response.headers.get("acp-connection-id")).toMatch(/^[0-9a-f]{32}$/);
    expect(response.headers.get("set-cookie")).toBeNull();
    const { id, result } = (await response.json()) as Loose;
    expect(id).toBe(1);
    expect(result.agentCapabilities._meta["chimera.dev/transport"]).toMatchObject({ resume: true, ids: "seq" });
  });

  test("a malformed message, a missing connection and a wrong Accept header are refused", async () => {
    const served = await serve();
    const status = async (body: string, headers: Headers) => (await post(served, body, headers)).status;
    const bare = await fetch(served.url, { method: "POST", headers: auth, body: new Uint8Array([0x7b, 0x7d]) });
    expect(bare.status).toBe(415);
    expect(await status(JSON.stringify(hello), { "content-type": "text/plain" })).toBe(415);
    const batch = await post(served, [hello], { "x-request-id": "mine.1" });
    const error = { code: -32600, data: { request_id: "mine.1" } };
    expect([batch.status, await batch.json()]).toMatchObject([400, { id: null, error }]);
    expect(await status('"x"', {})).toBe(400);
    expect(await status("{", {})).toBe(400);
    const list = call("session/list", {});
    expect((await post(served, list)).status).toBe(400);
    expect((await post(served, list, { "acp-connection-id": "nobody" })).status).toBe(404);
    const C = await connect(served);
    expect((await post(served, hello, C)).status).toBe(400);
    for (const accept of ["*/*", "application/json"]) {
      expect((await fetch(served.url, { headers: { ...auth, ...C, accept } })).status).toBe(406);
    }
  });

  test("replies come on the stream, also those that were sent before it was opened", async () => {
    const served = await serve();
    const C = await connect(served);
    const making = call("session/new", { cwd: "/", mcpServers: [] });
    const response = await post(served, making, C);
    expect([response.status, await response.text()]).toEqual([202, ""]);
    const rest = await open(served, C);
    await rest.until(isReply(making.id));
    expect(rest.frames[0]).toMatchObject({ id: "c1", message: { id: making.id } });
  });

  test("a prompt without its session in the header is refused", async () => {
    const served = await serve();
    const { C, sessionId } = await withSession(served);
    expect((await post(served, prompt(sessionId, "1"), C)).status).toBe(400);
    expect((await post(served, prompt(sessionId, "1"), { ...C, "acp-session-id": "otter-other" })).status).toBe(400);
    expect(served.sessions.find(sessionId)?.lastSeq).toBe(0);
  });

  test("answers, cancels and the end of a connection", async () => {
    const served = await serve();
    const { C, S, sessionId, rest } = await withSession(served);
    const stream = await open(served, S);
    expect((await post(served, { jsonrpc: "2.0", id: "never", result: {} }, C)).status).toBe(202);
    // Each of them cancels: nothing else ends these turns.
    for (const headers of [C, S]) {
      const running = prompt(sessionId, "1 wait");
      const before = stream.frames.length;
      await post(served, running, S);
      await stream.until(
        (frame) => stream.frames.indexOf(frame) >= before && frame.message.method === "session/update",
      );
      const cancel = { jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: running.id } };
      expect((await post(served, cancel, headers)).status).toBe(202);
      const { message } = await stream.until(isReply(running.id));
      expect(message.result).toMatchObject({ stopReason: "cancelled" });
    }
    await post(served, prompt(sessionId, "1 ask"), S);
    const question = await stream.until(({ message }) => message.method === "session/request_permission");
    const answer = { jsonrpc: "2.0", id: question.message.id, result: { outcome: { outcome: "cancelled" } } };
    expect((await post(served, answer, { ...C, "acp-session-id": "otter-other" })).status).toBe(400);
    expect((await fetch(served.url, { method: "DELETE", headers: { ...auth, ...C } })).status).toBe(202);
    await expect.poll(() => stream.isEnded && rest.isEnded).toBe(true);
    expect((await post(served, call("session/list", {}), C)).status).toBe(404);
    expect(served.sessions.find(sessionId)).toBeDefined();
  });

  test("the connection of another caller is not found; a session's token reaches only its session", async () => {
    const served = await serve();
    const { C, sessionId } = await withSession(served);
    const token = (await served.app.rotateSessionToken(sessionId))!;
    const own = { authorization: `Bearer ${token}` };
    expect((await post(served, call("session/list", {}), { ...C, ...own })).status).toBe(404);
    const G = { ...own, ...(await connect(served, own)) };
    const rest = await open(served, G);
    const stream = await open(served, { ...G, "acp-session-id": sessionId });
    const asked = prompt(sessionId, "3");
    expect((await post(served, asked, { ...G, "acp-session-id": sessionId })).status).toBe(202);
    await stream.until(isReply(asked.id));
    for (const refused of [call("session/list", {}), call("session/new", { cwd: "/", mcpServers: [] })]) {
      expect((await post(served, refused, G)).status).toBe(202);
      expect((await rest.until(isReply(refused.id))).message.error).toBeDefined();
    }
    const forked = call("session/fork", { sessionId });
    await post(served, forked, { ...G, "acp-session-id": sessionId });
    expect((await rest.until(isReply(forked.id))).message.error).toBeDefined();
  });

  test("a foreign Origin and a foreign Host are refused before anything else", async () => {
    const served = await serve();
    for (const headers of [{ origin: "https://evil.example" }, { host: "evil.example" }]) {
      for (const method of ["GET", "POST"]) {
        const status = await new Promise((resolve) => {
          const asked = httpRequest(
            served.url,
            { method, headers: { ...headers, connection: "close" } },
            (response) => {
              response.resume();
              resolve(response.statusCode);
            },
          );
          asked.end();
        });
        expect(status).toBe(403);
      }
      const socket = new WebSocket(served.url.replace("http", "ws"), { headers });
      const [, response] = (await once(
        socket.on("error", () => {}),
        "unexpected-response",
      )) as [unknown, Loose];
      expect(response.statusCode).toBe(403);
    }
  });

  test("each of 1,000 posts is answered within 50 ms while a prompt streams", async () => {
    const served = await serve(endless);
    const { C, S, sessionId, rest } = await withSession(served);
    const stream = await open(served, S);
    const long = prompt(sessionId, "go on");
    await post(served, long, S);
    await stream.until(({ message }) => message.method === "session/update");
    // A machine with other work to do holds up now this one and now that one; what the server holds up is the same every time.
    const times = new Array<number>(1000).fill(Number.POSITIVE_INFINITY);
    for (let round = 0; round < 5 && Math.max(...times) >= 50; round++) {
      for (const [n, before] of times.entries()) {
        const started = performance.now();
        expect((await post(served, call("session/list", {}), C)).status).toBe(202);
        times[n] = Math.min(before, performance.now() - started);
      }
    }
    expect(Math.max(...times)).toBeLessThan(50);
    await rest.until(isReply(lastId));
    const heard = stream.frames.length;
    await stream.until(() => stream.frames.length > heard);
    await post(served, { jsonrpc: "2.0", method: "session/cancel", params: { sessionId } }, S);
    await stream.until(isReply(long.id));
  }, 120_000);
});

describe("streams", () => {
  test("updates have rising numbers, and the reply has the number of the turn's last record", async () => {
    const served = await serve();
    const { S, sessionId } = await withSession(served);
    const stream = await open(served, S);
    const asked = prompt(sessionId, "100");
    await post(served, asked, S);
    const reply = await stream.until(isReply(asked.id));
    const ids = stream.frames.flatMap(({ id }) => (id === null ? [] : [Number(id)]));
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect(stream.texts()).toBe(numbers(100));
    expect(reply).toBe(stream.frames.at(-1));
    expect(Number(reply.id)).toBe(served.sessions.find(sessionId)?.lastSeq);
  });

  test("a new stream continues after the number that it names, and brings the reply", async () => {
    const { agent, go } = counting();
    const served = await serve(agent);
    const { S, sessionId } = await withSession(served);
    const first = await open(served, S);
    const asked = prompt(sessionId, "100 wait");
    await post(served, asked, S);
    await first.until(() => first.frames.length > 60);
    await first.cut();
    const seen = first.frames.slice(0, 30);
    const last = seen.findLast(({ id }) => id !== null)!.id!;
    go();
    const second = await open(served, { ...S, "last-event-id": last });
    await second.until(isReply(asked.id));
    const text = (frames: readonly SseFrame[]) =>
      frames.flatMap(({ message }) => message.params?.update?.content?.text ?? []).join("");
    expect(text(seen) + text(second.frames)).toBe(numbers(100));
    // Again and again, after the reply: it comes back too.
    let before = second;
    for (let i = 0; i < 3; i++) {
      await before.cut();
      const next = await open(served, { ...S, "last-event-id": last });
      await next.until(isReply(asked.id));
      expect(text(seen) + text(next.frames)).toBe(numbers(100));
      expect(next.frames.filter(isReply(asked.id))).toHaveLength(1);
      before = next;
    }
    // It is one message, wherever a stream begins.
    const ids = [...seen, ...second.frames, ...before.frames].flatMap(({ message }) => {
      const { sessionUpdate, messageId } = message.params?.update ?? {};
      return sessionUpdate === "agent_message_chunk" ? [messageId] : [];
    });
    expect(new Set(ids).size).toBe(1);
  });

  test("an invalid cursor is ignored; a second stream replaces the first", async () => {
    const served = await serve();
    const { S, sessionId } = await withSession(served);
    let stream = await open(served, S);
    let said = 0;
    for (const since of ["abc", "-1", "1e3", "9007199254740993", "999999"]) {
      const next = await open(served, { ...S, "last-event-id": since });
      await expect.poll(() => stream.isEnded).toBe(true);
      const asked = prompt(sessionId, "5");
      await post(served, asked, S);
      await next.until(isReply(asked.id));
      expect(next.texts()).toBe(numbers(5));
      stream = next;
      said += 1;
    }
    expect(said).toBe(5);
  });

  test("another connection opens the stream first, then resumes from a number, or loads", async () => {
    const served = await serve();
    const one = await withSession(served);
    const stream = await open(served, one.S);
    const asked = prompt(one.sessionId, "40");
    await post(served, asked, one.S);
    await stream.until(isReply(asked.id));
    const seen = stream.frames.slice(0, 20);
    const C = await connect(served);
    const S = { ...C, "acp-session-id": one.sessionId };
    const again = await open(served, { ...S, "last-event-id": seen.at(-1)!.id! });
    await post(served, call("session/resume", { sessionId: one.sessionId, cwd: "/", mcpServers: [] }), S);
    const text = (frames: readonly SseFrame[]) =>
      frames.flatMap(({ message }) => message.params?.update?.content?.text ?? []).join("");
    await expect.poll(() => text(seen) + text(again.frames)).toBe(numbers(40));
    const D = await connect(served);
    const rest = await open(served, D);
    const loaded = await open(served, { ...D, "acp-session-id": one.sessionId });
    const loading = call("session/load", { sessionId: one.sessionId, cwd: "/", mcpServers: [] });
    await post(served, loading, { ...D, "acp-session-id": one.sessionId });
    await rest.until(isReply(loading.id));
    await expect.poll(() => loaded.texts()).toBe(`40${numbers(40)}`);
    expect(loaded.frames.every(({ id }) => id === null)).toBe(true);
  });

  test("an unanswered question is sent again on a new stream, with the same id", async () => {
    const served = await serve();
    const { S, sessionId } = await withSession(served);
    const first = await open(served, S);
    const asked = prompt(sessionId, "1 ask");
    await post(served, asked, S);
    const isQuestion = ({ message }: SseFrame) => message.method === "session/request_permission";
    const question = await first.until(isQuestion);
    await first.cut();
    const second = await open(served, { ...S, "last-event-id": "1" });
    const repeated = await second.until(isQuestion);
    expect(repeated.message).toEqual(question.message);
    expect(second.frames.findIndex(isQuestion)).toBeGreaterThan(
      second.frames.findIndex(({ message }) => message.params?.update?.sessionUpdate === "tool_call"),
    );
    await second.cut();
    const session = served.sessions.find(sessionId)!;
    await session.answer([...session.openPermissions.keys()][0]!, "allow");
    const third = await open(served, { ...S, "last-event-id": "1" });
    await third.until(isReply(asked.id));
    expect(third.frames.some(isQuestion)).toBe(false);
    expect(third.texts()).toContain("decided allow");
  });

  test("a key makes one turn, however many requests and connections send it", async () => {
    const served = await serve();
    const { S, sessionId } = await withSession(served);
    const stream = await open(served, S);
    const first = prompt(sessionId, "7");
    const key = { "idempotency-key": "key-1" };
    await post(served, first, { ...S, ...key });
    await post(served, first, { ...S, ...key });
    await stream.until(isReply(first.id));
    const second = { ...first, id: "again" };
    await post(served, second, { ...S, ...key });
    await stream.until(isReply("again"));
    expect(stream.texts()).toBe(numbers(7));
    expect(stream.frames.filter(isReply(first.id))).toHaveLength(1);
    expect(served.sessions.find(sessionId)?.conversation.turns).toHaveLength(1);
  });

  // It measures the memory of this process, in which the driver of a database would hold what is on its way there.
  const measured = { tags: ["needs-files"], timeout: 120_000 };
  test(
    "a reader that takes nothing for 25 s is dropped, holds bounded memory, and can continue where it stopped",
    measured,
    async () => {
      const root = mkdtempSync(join(tmpdir(), "chimera-stalled-"));
      const store = createFileStore({ root, durability: "none" });
      onTestFinished(async () => {
        await store.close();
        rmSync(root, { recursive: true, force: true, maxRetries: 3 });
      });
      const served = await serve(async function* ({ prompt: { text } }) {
        // 64 MiB, which a channel that does not hold its reader back would keep.
        for (let n = 0; n < 2048; n++) {
          yield { type: "text_delta", metadata: { text: `${text[0]}${n} `.padEnd(32 * 1024, ".") } };
          await new Promise((resolve) => setImmediate(resolve));
        }
      }, store);
      const { S, sessionId } = await withSession(served);
      const session = served.sessions.find(sessionId)!;
      const turn = async (text: string) => {
        const asked = prompt(sessionId, text);
        const before = memory();
        await post(served, asked, S);
        await expect.poll(() => session.state, { timeout: 30_000 }).toBe("idle");
        return { asked, grown: memory() - before };
      };
      await turn("x");
      const alone = await turn("b");
      const arriving = once(served.server, "connection") as Promise<[import("node:net").Socket]>;
      const request = { headers: { ...auth, ...S, accept: "text/event-stream" }, agent: false };
      const stalled = httpRequest(served.url, request);
      stalled.on("error", () => {}).end();
      const [[connection], [response]] = (await Promise.all([arriving, once(stalled, "response")])) as [
        [import("node:net").Socket],
        [import("node:http").IncomingMessage],
      ];
      response.on("error", () => {}).pause();
      const started = performance.now();
      const first = await turn("a");
      expect(first.grown - alone.grown).toBeLessThan(32 * 1024 * 1024);
      await expect.poll(() => connection.destroyed, { timeout: 60_000, interval: 500 }).toBe(true);
      expect(performance.now() - started).toBeGreaterThan(24_000);
      const next = await open(served, { ...S, "last-event-id": "1" });
      await next.until(isReply(first.asked.id));
      const heard = next
        .texts()
        .split(" ")
        .filter((word) => word.includes("a"));
      expect(heard.map((word) => word.replaceAll(".", ""))).toEqual(Array.from({ length: 2048 }, (_, n) => `a${n}`));
    },
  );
});

describe("a WebSocket", () => {
  const socketTo = (served: Served, protocols: string[] = [], headers: Headers = {}) => {
    const socket = new WebSocket(served.url.replace("http", "ws"), protocols, { headers });
    onTestFinished(() => socket.terminate());
    return socket.on("error", () => {});
  };

  test("reads its token from the protocols, selects the other protocol, and names the connection", async () => {
    const served = await serve();
    const socket = socketTo(served, ["acp.v1", `bearer.${Buffer.from(T).toString("base64url")}`]);
    const opened = once(socket, "open");
    const [response] = (await once(socket, "upgrade")) as [Loose];
    expect(response.headers["acp-connection-id"]).toMatch(/^[0-9a-f]{32}$/);
    await opened;
    expect(socket.protocol).toBe("acp.v1");
    const stranger = socketTo(served);
    const [, refused] = (await once(stranger, "unexpected-response")) as [unknown, Loose];
    expect(refused.statusCode).toBe(401);
  });

  test.each([
    [
      "bytes that no header holds",
      [],
      ["sec-websocket-protocol", `bearer.${Buffer.from("t\n").toString("base64url")}`],
      401,
    ],
    ["bytes that are not text", [], ["sec-websocket-protocol", "bearer.____"], 401],
    ["a second token", ["authorization", `Bearer ${T}`], ["authorization", "Bearer wrong"], 401],
    ["a second Host", ["authorization", `Bearer ${T}`], ["host", "evil.test"], [400, 403]],
  ])("is refused with %s", async (_what, one, another, status) => {
    const { url } = await serve();
    const { host, port, pathname } = new URL(url);
    const headers = ["host", host, ...one, ...another, "connection", "upgrade", "upgrade", "websocket"];
    const version = ["sec-websocket-version", "13", "sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="];
    const asked = httpRequest({ port, path: pathname, headers: [...headers, ...version] }).end();
    const statuses = [status].flat();
    const [answer] = (await Promise.race([once(asked, "response"), once(asked, "upgrade")])) as [Loose];
    expect(statuses).toContain(answer.statusCode);
  });

  test("begins with initialize, answers malformed messages, and limits their size", async () => {
    const served = await serve();
    const early = socketTo(served, [], auth);
    await once(early, "open");
    early.send(JSON.stringify(call("session/list", {})));
    expect((await once(early, "close"))[0]).toBe(1002);
    const socket = socketTo(served, [], auth);
    const frames: Loose[] = [];
    socket.on("message", (data) => frames.push(JSON.parse(String(data))));
    await once(socket, "open");
    socket.send(JSON.stringify(hello));
    socket.send(Buffer.from("binary"));
    socket.send("{");
    socket.send("[]");
    await expect.poll(() => frames.map(({ error }) => error?.code)).toEqual([undefined, -32700, -32600]);
    socket.send("x".repeat(40 * 1024 * 1024));
    expect((await once(socket, "close"))[0]).toBe(1009);
  });

  test("answers pings while the peer reads the pongs", async () => {
    const MANY = 300_000;
    const served = await serve();
    const socket = socketTo(served, [], auth);
    await once(socket, "open");
    let pongs = 0;
    let newest = "";
    socket.on("pong", (data) => {
      pongs += 1;
      newest = String(data);
    });
    const settled = async () => {
      for (let last = -1; last !== pongs; await new Promise((resolve) => setTimeout(resolve, 500))) last = pongs;
      return pongs;
    };
    socket.ping("once");
    expect(await settled()).toBe(1);
    socket.pause();
    for (let n = 0; n < MANY; n++) socket.ping(Buffer.alloc(125));
    socket.ping("the last one");
    await expect.poll(() => socket.bufferedAmount, { timeout: 15_000 }).toBe(0);
    socket.resume();
    expect(await settled()).toBeLessThan(MANY / 2);
    expect(newest).toBe("the last one");
    socket.ping("again");
    await once(socket, "pong");
  });

  test("carries a whole conversation", async () => {
    const served = await serve();
    const socket = socketTo(served, [], auth);
    const frames: Loose[] = [];
    socket.on("message", (data) => frames.push(JSON.parse(String(data))));
    await once(socket, "open");
    const answer = async (message: Loose) => {
      socket.send(JSON.stringify(message));
      await expect
        .poll(() => frames.some(({ id, method }) => id === message.id && !method), { timeout: 10_000 })
        .toBe(true);
      return frames.find(({ id, method }) => id === message.id && !method);
    };
    await answer(hello);
    const { result } = await answer(call("session/new", { cwd: "/", mcpServers: [] }));
    expect((await answer(prompt(result.sessionId, "500"))).result.stopReason).toBe("end_turn");
    expect(frames.flatMap(({ params }) => params?.update?.content?.text ?? []).join("")).toBe(numbers(500));
  });
});

test("while the server drains, prompts are refused over both transports and running turns finish", async () => {
  const { agent, go } = counting();
  const served = await serve(agent);
  const { S, sessionId, rest } = await withSession(served);
  const stream = await open(served, S);
  const running = prompt(sessionId, "3 wait");
  await post(served, running, S);
  await stream.until(({ message }) => message.params?.update?.content?.text?.includes("2"));
  const socket = new WebSocket(served.url.replace("http", "ws"), { headers: auth });
  onTestFinished(() => socket.terminate());
  const heard: Loose[] = [];
  socket.on("message", (data) => heard.push(JSON.parse(String(data))));
  await once(socket, "open");
  socket.send(JSON.stringify(hello));
  served.app.drain();
  const draining = { data: { code: "draining", retryable: true } };
  const [posted, sent, made] = [
    prompt(sessionId, "1"),
    prompt(sessionId, "1"),
    call("session/new", { cwd: "/", mcpServers: [] }),
  ];
  await post(served, posted, S);
  const refused = () => [...stream.frames, ...rest.frames].find(isReply(posted.id))?.message.error;
  await expect.poll(refused, { timeout: 10_000 }).toMatchObject(draining);
  socket.send(JSON.stringify(call("session/load", { sessionId, cwd: "/", mcpServers: [] })));
  socket.send(JSON.stringify(sent));
  socket.send(JSON.stringify(made));
  for (const { id } of [sent, made]) {
    const answer = () => heard.find((message) => message.id === id && !message.method)?.error;
    await expect.poll(answer, { timeout: 10_000 }).toMatchObject(draining);
  }
  go();
  expect((await stream.until(isReply(running.id))).message.result.stopReason).toBe("end_turn");
  expect(served.sessions.find(sessionId)!.conversation.turns).toHaveLength(1);
  expect(rest.isEnded).toBe(false);
});

test("a caller has a bounded number of connections", async () => {
  const served = await serve();
  for (let n = 0; n < LIMITS.acpConnectionsOfCaller; n++) await connect(served);
  expect((await post(served, hello)).status).toBe(503);
});
