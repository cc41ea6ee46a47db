import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { EndData, sessionStream } from "@chimera/acp-schema/http";
import * as v from "valibot";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { LIMITS } from "../src/index.js";
import { eventually, type Frame, MASTER, newSession, openStream, runTurn, scratch, sendRaw, serve } from "./fixture.js";
import { expectError } from "./shape.js";

const ids = (frames: readonly Frame[]) => frames.flatMap((frame) => frame.id ?? []);

/** A session with one finished turn, and how many records that is. */
async function finished() {
  const served = await serve();
  const { id } = await newSession(served);
  await runTurn(served, id, "say hello");
  return { served, id, count: served.sessions.find(id)!.lastSeq };
}

describe("a cursor", () => {
  test.each([
    ["absent", undefined, 0],
    ["0", "0", 0],
    ["3", "3", 3],
    ["padded", " 3 ", 3],
    ["with leading zeros", "003", 3],
    ["blank", " ", 0],
    ["negative", "-1", 0],
    ["a word", "null", 0],
    ["a fraction", "3.5", 0],
    ["an exponent", "1e2", 0],
    ["hexadecimal", "0x3", 0],
    ["signed", "+3", 0],
    ["followed by something", "3;drop", 0],
    ["other digits", "٣", 0],
  ])("%s replays the records after it, and ends with the turn", async (_, cursor, from) => {
    const { served, id, count } = await finished();
    const headers = cursor === undefined ? {} : { "last-event-id": Buffer.from(cursor).toString("latin1") };
    const stream = await openStream(served, `/sessions/${id}/events`, headers);
    await stream.ended;
    expect(ids(stream.frames)).toEqual(Array.from({ length: count - from }, (_item, index) => from + index + 1));
    expect(stream.frames.at(-1)).toMatchObject({ id: null, event: "end", data: { session_id: id, success: true } });
    expect(v.is(EndData, stream.frames.at(-1)?.data)).toBe(true);
  });

  test.each([
    ["at the head", (count: number) => ({ headers: { "last-event-id": String(count) }, query: "" })],
    ["past the end", () => ({ headers: { "last-event-id": "99999999999999999999" }, query: "" })],
    ["?from=live", () => ({ headers: {}, query: "?from=live" })],
    ["?from=live before a header", () => ({ headers: { "last-event-id": "1" }, query: "?from=live" })],
  ])("%s replays nothing and stays open for the next turn", async (_, request) => {
    const { served, id, count } = await finished();
    const { headers, query } = request(count);
    const stream = await openStream(served, `/sessions/${id}/events${query}`, headers);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(stream.frames).toEqual([]);
    await runTurn(served, id, "say more");
    await stream.ended;
    expect(ids(stream.frames)[0]).toBe(count + 1);
    expect(stream.frames.at(-1)?.event).toBe("end");
  });
});

test("a stream begins live or after Last-Event-ID; any other start is refused with advice", async () => {
  const { served, id } = await finished();
  for (const family of ["sessions", "session"]) {
    const refused = await served.call("GET", `/${family}/${id}/events?from=5`);
    expectError(refused, 400, "invalid_query");
    expect(refused.body.message).toContain("Last-Event-ID");
  }
});

test("the headers say that it is an event stream and must not be cached", async () => {
  const { served, id } = await finished();
  const { response } = await openStream(served, `/sessions/${id}/events`);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    connection: "keep-alive",
    "x-accel-buffering": "no",
    "x-content-type-options": "nosniff",
  });
  const head = await served.call("HEAD", `/sessions/${id}/events`);
  expect([head.status, head.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
});

test.each([
  ["of one session", "GET", (id: string) => `/sessions/${id}/events?until=never`, undefined],
  ["of several sessions", "GET", (id: string) => `/events?session=${id}`, undefined],
  [
    "of a run",
    "POST",
    () => "/runs",
    {
      agent_name: "otter",
      mode: "stream",
      input: [{ role: "user", parts: [{ content_type: "text/plain", content: "wait" }] }],
    },
  ],
])("a stream %s without events has a comment now and then", async (_, method, path, body) => {
  const served = await serve();
  const { id } = await newSession(served);
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const headers = { authorization: `Bearer ${MASTER}`, "content-type": "application/json" };
  const response = await fetch(served.url + path(id), { method, headers, ...(body && { body: JSON.stringify(body) }) });
  vi.advanceTimersByTime(LIMITS.keepAliveMs);
  let text = "";
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(bytes).toString();
    if (text.includes(": keep-alive")) break;
  }
  expect(text).toContain(": keep-alive");
});

test("an event has the record's number, its type, and its line of the log", async () => {
  const { served, id } = await finished();
  const stream = await openStream(served, `/sessions/${id}/events`);
  await stream.ended;
  const { body } = await served.call("GET", `/sessions/${id}`);
  const records = stream.frames.slice(0, -1);
  expect(records.map((frame) => frame.data)).toEqual(body.events);
  for (const { id: number, event, data } of records) expect(data).toMatchObject({ seq: number, type: event });
});

describe("a turn whose last record is damaged on disk", { tags: ["needs-files"] }, () => {
  /** The same log with the last record of the given type made unreadable. */
  const damage = (root: string, id: string, type: string) => {
    const directory = join(root, "eventlog", id);
    const segment = join(directory, readdirSync(directory).find((name) => name.endsWith(".ndjson"))!);
    const bytes = readFileSync(segment);
    const at = bytes.lastIndexOf(`"type":"${type}"`);
    bytes[bytes.indexOf('"metadata"', at) + 12]! ^= 1;
    writeFileSync(segment, bytes);
  };

  test.each([
    ["in a live session ends the stream as it ended", "say hello", true],
    ["in a live session ends the stream as a failure that it was", "fail", false],
  ])("%s", async (_, text, success) => {
    const root = scratch();
    const served = await serve({ root });
    const { id } = await newSession(served);
    await runTurn(served, id, text);
    damage(root, id, "agent_result");
    const stream = await openStream(served, `/sessions/${id}/events`);
    await stream.ended;
    expect(stream.frames.at(-1)).toMatchObject({ event: "end", data: { session_id: id, success } });
    expect(stream.frames.at(-2)).toMatchObject({ id: null, event: "notice" });
  });

  test("in a log that is not loaded ends the stream too", async () => {
    const root = scratch();
    const first = await serve({ root });
    const { id } = await newSession(first);
    await runTurn(first, id, "say hello");
    await first.stop();
    damage(root, id, "agent_result");
    const served = await serve({ root });
    const stream = await openStream(served, `/sessions/${id}/events`);
    await stream.ended;
    expect(stream.frames.at(-1)).toMatchObject({ event: "end", data: { session_id: id } });
  });

  test("leaves a stream open if no turn has ended", async () => {
    const root = scratch();
    const served = await serve({ root });
    const { id } = await newSession(served);
    await served.call("POST", `/sessions/${id}/title`, { body: { title: "t" } });
    damage(root, id, "title_changed");
    const stream = await openStream(served, `/sessions/${id}/events`);
    await eventually(() => stream.frames.some((frame) => frame.event === "notice"));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(stream.frames.map((frame) => frame.event)).not.toContain("end");
  });
});

test("the entry for lost records arrives before the record after them, at any size", {
  tags: ["needs-files"],
}, async () => {
  const root = scratch();
  const first = await serve({ root });
  const { id } = await newSession(first);
  await first.stop();
  const lost = 1000;
  const directory = join(root, "eventlog", id);
  const write = (seq: number, text: string) =>
    writeFileSync(join(directory, `event-${String(seq).padStart(6, "0")}-00000000.json`), text);
  for (let seq = 1; seq <= lost; seq++) write(seq, "unreadable");
  write(lost + 1, JSON.stringify({ type: "text_delta", metadata: { text: "behind" }, ts: "2026-04-25T12:00:00.000Z" }));
  const served = await serve({ root });
  const stream = await openStream(served, `/sessions/${id}/events`);
  await stream.until((frames) => frames.length > lost);
  expect(stream.frames.slice(0, lost).every(({ event, data }) => event === "notice" && data?.missing)).toBe(true);
  expect(stream.frames[lost]).toMatchObject({ id: lost + 1, event: "text_delta" });
});

test("the end event comes after queued turns, and has the outcome of the last one", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  await served.call("POST", `/sessions/${id}/turns`, { body: { prompt: "wait" } });
  const stream = await openStream(served, `/sessions/${id}/events`);
  await served.call("POST", `/sessions/${id}/turns`, { body: { prompt: "fail" } });
  await served.call("POST", `/sessions/${id}/cancel`);
  await stream.ended;
  const ends = stream.frames.filter((frame) => /^(cancelled|agent_result|end)$/.test(frame.event));
  expect(ends.map((frame) => frame.event)).toEqual(["cancelled", "agent_result", "end"]);
  expect(ends.at(-1)?.data).toEqual({ session_id: id, success: false });
});

test("the singular family has the same numbers in its own format, and stays open between turns", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  const stream = await openStream(served, `/session/${id}/events`);
  await runTurn(served, id, "say hello");
  await runTurn(served, id, "fail");
  await stream.until((frames) => frames.filter((frame) => frame.event === "result").length === 2);
  expect(ids(stream.frames)).toEqual(stream.frames.map((_, index) => index + 1));
  for (const { event, data } of stream.frames) {
    const parsed = v.safeParse(sessionStream[event as keyof typeof sessionStream], data);
    expect(parsed.issues).toBeUndefined();
    expect(parsed.output).toEqual(data);
  }
  const shown = stream.frames.filter((frame) => frame.event !== "loop_event");
  expect(shown.map(({ event, data }) => ({ event, data }))).toEqual([
    { event: "user_message", data: { message_id: "msg-0", text: "say hello" } },
    {
      event: "result",
      data: { message_id: "msg-0", output: "hello", steps: 1, cost: 0, success: true, cancelled: false },
    },
    { event: "user_message", data: { message_id: "msg-1", text: "fail" } },
    { event: "error", data: { message_id: "msg-1", error: "the model is away" } },
    {
      event: "result",
      data: { message_id: "msg-1", output: "", steps: 1, cost: 0, success: false, cancelled: false },
    },
  ]);
  expect(stream.frames.find((frame) => frame.data.type === "text_delta")?.data).toEqual({
    message_id: "msg-0",
    type: "text_delta",
    data: { text: "hello" },
    turn: 0,
    timestamp: expect.any(Number),
    ts: expect.stringMatching(/Z$/),
  });
  const resumed = await openStream(served, `/session/${id}/events`, { "last-event-id": "5" });
  await resumed.until((frames) => frames.length === stream.frames.length - 5);
  expect(resumed.frames).toEqual(stream.frames.slice(5));
});

test("a stream ends with its connection, and no client reuses that connection", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  await runTurn(served, id, "say hello");
  const request = `GET /sessions/${id}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${MASTER}\r\n\r\n`;
  const socket = connect(served.port, "127.0.0.1", () => socket.write(request)).setEncoding("latin1");
  let text = "";
  for await (const chunk of socket) text += chunk;
  expect(text).toMatch(/\r\nConnection: keep-alive\r\n/);
  expect(text).not.toMatch(/\r\nTransfer-Encoding:/i);
  expect(text).toMatch(/event: end\ndata: [^\n]+\n\n$/);
  await eventually(async () => (await served.connections()) === 0);
});

test("no text can end an event or begin another", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  const hostile = "a\n\nid: 99\nevent: end\ndata: {}\n\nb\r\revent: x\u2028c";
  await runTurn(served, id, `say ${hostile}`);
  for (const path of [`/sessions/${id}/events`, `/session/${id}/events`]) {
    const stream = await openStream(served, path);
    const count = served.sessions.find(id)!.lastSeq;
    await stream.until((frames) => ids(frames).at(-1) === count);
    expect(ids(stream.frames)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    stream.leave();
  }
});

test("nor can a line of a log that another program wrote", { tags: ["needs-files"] }, async () => {
  const root = scratch();
  const before = await serve({ root });
  const { id } = await newSession(before);
  await runTurn(before, id, "say hello");
  const seq = before.sessions.find(id)!.lastSeq + 1;
  await before.stop();
  const folder = join(root, "eventlog", id);
  const line = `{"seq":${seq},"id":"evt-00000000","type":"x\\n\\nid: 99\\nevent: end","turn":null,\r"metadata":{},"ts":"2100-01-01T00:00:00.000Z"}`;
  const sum = (crc32(line) >>> 0).toString(16).padStart(8, "0");
  const segment = readdirSync(folder).find((name) => name.startsWith("event-"))!;
  appendFileSync(join(folder, segment), `${line.replace("evt-00000000", `evt-${sum}`)}\n`);
  const served = await serve({ root });
  const stream = await openStream(served, `/sessions/${id}/events`);
  await stream.ended;
  expect(stream.frames.every((frame) => frame.id === null || frame.id <= seq)).toBe(true);
  expect(stream.frames.filter((frame) => frame.event === "end")).toHaveLength(1);
});

test("a record of a mebibyte arrives whole", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  const prompt = `say ${"x".repeat(1024 * 1024)}`;
  await runTurn(served, id, prompt);
  const stream = await openStream(served, `/sessions/${id}/events`);
  await stream.ended;
  expect(stream.frames.find((frame) => frame.event === "user_message")?.data.metadata.text).toBe(prompt);
  const said = stream.frames.filter((frame) => frame.event === "text_delta");
  expect(said.map((frame) => frame.data.metadata.text).join("")).toBe(prompt.slice("say ".length));
});

test("streams that come and go leave nothing behind", async () => {
  const { served, id, count } = await finished();
  for (let round = 0; round < 20; round++) {
    const streams = await Promise.all(
      Array.from({ length: 10 }, () => openStream(served, `/session/${id}/events?from=live`)),
    );
    for (const stream of streams) stream.leave();
  }
  await eventually(async () => (await served.connections()) <= 1);
  const stream = await openStream(served, `/sessions/${id}/events`);
  await stream.ended;
  expect(ids(stream.frames)).toHaveLength(count);
});

test("a token in the URL opens no stream", async () => {
  const { served, id } = await finished();
  const request = `GET /sessions/${id}/events?token=${MASTER} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  expect((await sendRaw(served.port, request)).status).toBe(401);
});

test("a slow peer gets everything, and does not delay others", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  const slow = connect(served.port, "127.0.0.1");
  let received = 0;
  slow.pause();
  slow.write(`GET /sessions/${id}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${MASTER}\r\n\r\n`);
  const quick = await openStream(served, `/sessions/${id}/events`);
  await served.call("POST", `/sessions/${id}/turns`, { body: { prompt: "burst 1200 4096" } });
  await quick.ended;
  expect(ids(quick.frames)).toHaveLength(served.sessions.find(id)!.lastSeq);
  let tail = "";
  slow.on("data", (chunk) => {
    received += chunk.length;
    tail = (tail + chunk.toString("latin1")).slice(-400);
  });
  slow.resume();
  await eventually(() => tail.includes("event: end"));
  expect(received).toBeGreaterThan(1200 * 4096);
  slow.destroy();
});

test("a slow peer of a stream of many sessions gets every record, and a row that changed often once in its newest form", async () => {
  const served = await serve();
  const ids = await Promise.all(Array.from({ length: 8 }, async () => (await newSession(served)).id));
  const slow = connect(served.port, "127.0.0.1");
  slow.pause();
  const query = ids.map((id) => `session=${id}`).join("&");
  slow.write(`GET /events?list=true&${query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${MASTER}\r\n\r\n`);
  await eventually(async () => (await served.call("GET", `/sessions/${ids[0]}/clients`)).body.clients.length === 1);
  await Promise.all(ids.map((id) => runTurn(served, id, "burst 1200 2048")));
  for (let at = 0; at < 100; at++) {
    await (await served.sessions.load(ids[0]!)).setTitle(`title ${at}`);
    await served.sessions.close(ids[0]!);
  }
  const seqs = new Map<string, number[]>(ids.map((id) => [id, []]));
  const titles: string[] = [];
  let rest = "";
  slow.setEncoding("latin1").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const [, id = "", kind, seq] = /^data: \{"session_id":"([^"]+)","(record":\{"seq":(\d+)|row)/.exec(line) ?? [];
      if (kind === "row") titles.push(/"title":"(title \d+)"/.exec(line)?.[1] ?? "");
      else seqs.get(id)?.push(Number(seq));
    }
  });
  slow.resume();
  const ends = await Promise.all(ids.map((id) => served.sessions.logs.lastSeq(id)));
  await eventually(() => ids.every((id, at) => seqs.get(id)!.at(-1) === ends[at]), 30_000);
  for (const found of seqs.values()) expect(found).toEqual(found.map((_, at) => at + 1));
  await eventually(() => titles.includes("title 99"));
  expect(titles.filter(Boolean).length).toBeLessThan(10);
  slow.destroy();
});

test.each([
  ["cannot be read", () => Promise.reject(new Error("the disk is gone"))],
  ["has lost its last records", async () => ({ done: true as const, value: undefined })],
])("a log that %s ends the stream of a slow peer with its rows, and the process lives", async (_, next) => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const served = await serve();
  const { sessions } = served;
  const [large, lost, named] = await Promise.all([1, 2, 3].map(async () => (await newSession(served)).id));
  let isLost = false;
  let nameLast = async () => {};
  const failing = async () => {
    await nameLast();
    return next();
  };
  const read: typeof sessions.logs.read = (id, range) =>
    isLost && id === lost ? { [Symbol.asyncIterator]: () => ({ next: failing }) } : sessions.logs.read(id, range);
  const broken = await serve({ sessions: { ...sessions, logs: { ...sessions.logs, read } } });
  const path = `/events?list=true&session=${large}&session=${lost}`;
  const headers = { authorization: `Bearer ${MASTER}`, host: "localhost" };
  // Nobody reads this answer yet.
  const slow = await broken.app.request(`http://localhost${path}`, { headers });
  const quick = await openStream(broken, path);
  const said = (id: string) =>
    quick.frames.some(({ data }) => data.session_id === id && data.record?.type === "agent_result");
  await runTurn(served, large!, `say ${"x".repeat(200_000)}`);
  await quick.until(() => said(large!));
  await runTurn(served, lost!, "say hello");
  await quick.until(() => said(lost!));
  // The row waits behind the records that are lost, and nothing waits behind the row.
  nameLast = async () => {
    await sessions.find(named!)!.setTitle("last");
    await quick.until((frames) => frames.some(({ data }) => data.row?.title === "last"));
  };
  isLost = true;
  expect(await slow.text()).toContain("x".repeat(1000));
  expect((await broken.call("GET", "/health")).status).toBe(200);
  expect(broken.logged.filter((line) => line.includes("stream failed"))).toHaveLength(1);
  expect(broken.logged.join()).toMatch(/the disk is gone|has lost the records after \d/);
  expect(unhandled).toEqual([]);
});

test("a mounted app streams without a Node response", async () => {
  const { served, id, count } = await finished();
  const response = await served.app.request(`http://localhost/sessions/${id}/events`, {
    headers: { authorization: `Bearer ${MASTER}`, host: "localhost" },
  });
  const text = await response.text();
  expect(text.match(/^id: /gm)).toHaveLength(count);
  expect(text).toContain("event: end");
});

test("a peer that left before it was answered leaves no timer running", async () => {
  const { served, id } = await finished();
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  for (let i = 0; i < 100; i++) {
    const socket = connect(served.port, "127.0.0.1");
    socket.on("error", () => {});
    await new Promise((resolve) => socket.once("connect", resolve));
    const request = `GET /session/${id}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${MASTER}\r\n\r\n`;
    socket.write(request, () => socket.resetAndDestroy());
  }
  await eventually(async () => (await served.connections()) === 0);
  await eventually(() => timers() <= before + 2);
});

test("a stream ends if its log can no longer be read, and the server's log says why", async () => {
  const { served, id } = await finished();
  const { sessions } = served;
  const ended = () => Promise.reject(new Error("/secret/path is gone"));
  const unreadable = { ...sessions.logs, follow: () => ({ cursor: 0, ended: ended(), close() {} }) };
  const broken = await serve({ sessions: { ...sessions, logs: unreadable } });
  const stream = await openStream(broken, `/sessions/${id}/events`);
  await stream.ended;
  expect(stream.raw()).toBe("");
  expect(broken.logged.join()).toContain("/secret/path is gone");
});

test("readers beyond the limit get 503, and a cancel is still served", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  await served.call("POST", `/sessions/${id}/turns`, { body: { prompt: "wait" } });
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
  onTestFinished(() => agent.destroy());
  const headers = { authorization: `Bearer ${MASTER}` };
  const readers = Array.from(
    { length: LIMITS.connections + 20 },
    () =>
      new Promise<{ status: number | undefined; retryAfter: string | undefined }>((resolve, reject) => {
        const asked = get(`${served.url}/sessions/${id}/events`, { agent, headers }, (response) => {
          response.on("error", () => {}).resume();
          resolve({ status: response.statusCode, retryAfter: response.headers["retry-after"] });
        });
        asked.on("error", reject);
      }),
  );
  const answers = await Promise.all(readers);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(LIMITS.streams);
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused).toEqual(refused.map(() => ({ status: 503, retryAfter: "1" })));
  const late = await served.call("GET", `/sessions/${id}/events`);
  expect(late.body).toMatchObject({ error: "too_many_streams", message: expect.stringContaining("try again") });
  expect((await served.call("GET", "/health")).status).toBe(200);
  expect((await served.call("POST", `/sessions/${id}/cancel`)).status).toBe(204);
  await served.sessions.find(id)!.idle();
  // Places come free again.
  agent.destroy();
  await eventually(async () => (await openStream(served, `/sessions/${id}/events`)).response.status === 200);
});
