import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { LIMITS } from "../src/index.js";
import { eventually, MASTER, newSession, openStream, runTurn, scratch, sendRaw, serve } from "./fixture.js";
import { expectError, expectReply } from "./shape.js";

describe("every answer", () => {
  test("has an id, which is the caller's own if it sent one", async () => {
    const served = await serve();
    const named = await served.call("GET", "/sessions/nobody", { headers: { "x-request-id": "mine.1" } });
    expectError(named, 404, "session_not_found");
    expect([named.body.request_id, named.headers.get("x-request-id")]).toEqual(["mine.1", "mine.1"]);
    const hostile = await served.call("GET", "/nowhere", { headers: { "x-request-id": "a b" } });
    expectError(hostile, 404, "not_found");
    expect(hostile.body).toMatchObject({ path: "/nowhere", request_id: expect.stringMatching(/^[0-9a-f]{8}$/) });
    expect(hostile.headers.get("x-request-id")).toBe(hostile.body.request_id);
  });

  test("lists the methods of a path, for callers that may use one of them", async () => {
    const served = await serve();
    const answer = await served.call("PUT", "/sessions/x");
    expectError(answer, 405, "method_not_allowed");
    expect(answer.headers.get("allow")).toBe("GET, HEAD, PATCH, DELETE");
    expect((await served.call("PUT", "/sessions/x", { token: null })).status).toBe(401);
    const open = await served.call("POST", "/health", { token: null });
    expectError(open, 405, "method_not_allowed");
    expect(open.headers.get("allow")).toBe("GET, HEAD");
    const { id, token } = await newSession(served);
    const own = await served.call("PUT", `/sessions/${id}/events`, { token });
    expectError(own, 405, "method_not_allowed");
    expect(own.headers.get("allow")).toBe("GET, HEAD");
    for (const path of [`/sessions/${(await newSession(served)).id}/events`, "/sessions", "/nowhere"])
      expectError(await served.call("PUT", path, { token }), 401, "unauthorized");
  });

  test("is compressed if it is long and the caller accepts that", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    await runTurn(served, id, "burst 50 100");
    const raw = async (path: string, encoding: string) =>
      fetch(served.url + path, { headers: { authorization: `Bearer ${MASTER}`, "accept-encoding": encoding } });
    for (const path of [`/sessions/${id}`, "/openapi.json", `/sessions/${id}/transcript?format=md`]) {
      const zipped = await raw(path, "gzip");
      expect([path, zipped.headers.get("content-encoding")]).toEqual([path, "gzip"]);
      const plain = await raw(path, "identity");
      expect(plain.headers.get("content-encoding")).toBeNull();
      expect(await zipped.text()).toBe(await plain.text());
    }
    expect((await raw("/session", "gzip")).headers.get("content-encoding")).toBeNull();
    for (const [encodings, answered] of [
      ["gzip;q=0", null],
      ["identity, gzip; q=0.000", null],
      ["br, GZIP;q=0.5", "gzip"],
    ] as const)
      expect([encodings, (await raw("/openapi.json", encodings)).headers.get("content-encoding")]).toEqual([
        encodings,
        answered,
      ]);
    const stream = await openStream(served, `/sessions/${id}/events`, { "accept-encoding": "gzip" });
    await stream.ended;
    expect(stream.response.headers.get("content-encoding")).toBeNull();
    // The body itself is compressed, not only its header.
    const bytes = await sendRaw(
      served.port,
      `GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${MASTER}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n`,
    );
    const body = Buffer.from(bytes.text.slice(bytes.text.indexOf("\r\n\r\n") + 4), "latin1");
    expect(gunzipSync(body).toString()).toContain("openapi");
  });
});

describe("an unknown name in a request", () => {
  const body = { prompt: "say hi", mod: "auto", "wörd\n": 1 };

  test("causes a warning, and the request is served", async () => {
    const served = await serve();
    const created = await served.call("POST", "/sessions?secret=s3cr3t", { body });
    expect(created.status).toBe(201);
    expect(created.body.warnings).toEqual([
      "query: POST /sessions has no secret; it was ignored",
      "body: POST /sessions has no mod; it was ignored",
      "body: POST /sessions has no w%C3%B6rd%0A; it was ignored",
    ]);
    expect(created.text).not.toContain("s3cr3t");
    const read = await served.call("GET", `/sessions/${created.body.session_id}?full=1`);
    expect(read.body).toMatchObject({ events: expect.any(Array), warnings: [expect.stringContaining("full")] });
    const cancelled = await served.call("POST", `/sessions/${created.body.session_id}/cancel?now=1`);
    expect([cancelled.status, cancelled.headers.get("x-warnings")]).toEqual([204, expect.stringContaining("now")]);
    expect((await served.call("GET", "/sessions")).body.warnings).toBeUndefined();
  });

  test("is refused if the caller prefers that, and nothing is done", async () => {
    const served = await serve();
    const headers = { prefer: "handling=strict" };
    const refused = await served.call("POST", "/sessions", { body, headers });
    expectError(refused, 400, "unknown_field");
    expect(refused.body).toMatchObject({ detail: ["mod", "w%C3%B6rd%0A"], message: expect.stringContaining("mode") });
    expectError(await served.call("GET", "/sessions?lim=1", { headers }), 400, "unknown_field");
    expect(served.sessions.live()).toEqual([]);
    expectReply("GET /sessions", await served.call("GET", "/sessions?limit=1", { headers }));
  });

  const strict = { prefer: "handling=strict" };

  test.each([
    ["POST", "/sessions/{id}/cancel"],
    ["POST", "/session/{id}/cancel"],
    ["POST", "/runs/{id}/cancel"],
    ["POST", "/sessions/{id}/rotate-token"],
    ["POST", "/page/codes"],
    ["DELETE", "/sessions/{id}"],
    ["DELETE", "/session/{id}"],
  ])("%s %s has no body, so every field of one is unknown", async (method, pattern) => {
    const served = await serve();
    const { id } = await newSession(served);
    const path = pattern.replace("{id}", id);
    const refused = await served.call(method, path, { body: { turn: 3 }, headers: strict });
    expectError(refused, 400, "unknown_field");
    expect(refused.body.detail).toEqual(["turn"]);
    const broken = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${MASTER}\r\nContent-Type: application/json\r\n`;
    const { status, text } = await sendRaw(
      served.port,
      `${broken}Connection: close\r\nContent-Length: 9\r\n\r\n{nonsense`,
    );
    expect([status, text]).toEqual([400, expect.stringContaining('"invalid_json"')]);
    expect(served.sessions.find(id)).toBeDefined();
    if (pattern.startsWith("/runs")) return;
    const warned = await served.call(method, path, { body: { turn: 3 } });
    expect(warned.headers.get("x-warnings")).toContain("has no turn");
  });

  test("is reported also with the value null, and inside a field", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    const refused = async (path: string, body: object) => {
      const answer = await served.call("POST", path, { body, headers: strict });
      expectError(answer, 400, "unknown_field");
      return answer.body.detail;
    };
    expect(await refused("/sessions", { prompt: "x", mod: null })).toEqual(["mod"]);
    const part = { content: "x", foo: 1 };
    const input = [{ role: "user", parts: [{ content: "" }, part], bar: null }];
    expect(await refused("/runs", { agent_name: "otter", input })).toEqual(["input.0.bar", "input.0.parts.1.foo"]);
    const image = { type: "image", data: "aGk=", mimeType: "image/png", size: 2, _meta: { any: "name" } };
    expect(await refused(`/sessions/${id}/turns`, { prompt: "x", content: [image] })).toEqual(["content.0.size"]);
    expect(served.sessions.find(id)!.lastSeq).toBe(0);
    const known = { prompt: "say x", content: [{ ...image, size: undefined }] };
    const accepted = await served.call("POST", `/sessions/${id}/turns`, { body: known, headers: strict });
    expect([accepted.status, accepted.body.warnings]).toEqual([202, undefined]);
  });

  test("is left out of the list when the header is full", async () => {
    const served = await serve();
    const names = Array.from({ length: 5000 }, (_, at) => [`a name of some length ${at}`, 1]);
    const answer = await served.call("POST", "/session", { body: Object.fromEntries(names) });
    expect(answer.status).toBe(201);
    expect(answer.body.warnings).toHaveLength(LIMITS.notedNames + 1);
    expect(answer.body.warnings.at(-1)).toBe(`body: ${5000 - LIMITS.notedNames} more names were ignored`);
  });

  test("a token in the query opens nothing", async () => {
    const served = await serve();
    expectError(await served.call("GET", `/sessions?token=${MASTER}`, { token: null }), 401, "unauthorized");
  });
});

test("pages without a limit lead through every session once, and the live ones are all on the first", async () => {
  let now = Date.parse("2026-11-19T12:00:00Z");
  const clock = () => now;
  const root = scratch();
  const live = await serve({ root, clock });
  const here = [await newSession(live), await newSession(live)].map(({ id }) => id);
  for (const id of here) await runTurn(live, id, "say hi");
  const stored = await serve({ root, clock });
  for (let i = 0; i < 2 * LIMITS.listedSessions + 1; i++) {
    now += 1000;
    const { id } = await newSession(stored);
    await runTurn(stored, id, `say ${i}`);
  }
  await stored.stop();
  const pages: string[][] = [];
  for (let after: string | null = ""; after !== null; ) {
    const answer = await live.call("GET", `/sessions?after=${after}`);
    pages.push(answer.body.sessions.map(idOf));
    after = answer.body.next;
  }
  expect(pages.map((page) => page.length)).toEqual([LIMITS.listedSessions + here.length, LIMITS.listedSessions, 1]);
  expect(pages[0]).toEqual(expect.arrayContaining(here));
  const all = (await live.call("GET", "/sessions?limit=0")).body.sessions.map(idOf);
  expect(pages.flat().toSorted()).toEqual(all.toSorted());
});

test("pages lead through every session once, live and stored alike", async () => {
  const root = scratch();
  const before = await serve({ root });
  for (let i = 0; i < 5; i++) {
    const { body } = await before.call("POST", "/sessions", { body: { prompt: `say ${i}` } });
    await before.sessions.find(body.session_id)!.idle();
  }
  await before.stop();
  const served = await serve({ root });
  for (let i = 0; i < 3; i++) await newSession(served);
  await served.call("POST", "/sessions", { body: { prompt: "say hush", persist: false } });
  const all = (await served.call("GET", "/sessions?limit=100")).body.sessions.map(idOf);
  expect(all).toHaveLength(9);
  for (const limit of [1, 2, 4, 9]) {
    const seen: string[] = [];
    for (let after: string | null = ""; after !== null; ) {
      const answer = await served.call("GET", `/sessions?limit=${limit}&after=${after}`);
      expectReply("GET /sessions", answer);
      expect(answer.body.sessions.length).toBeLessThanOrEqual(limit);
      seen.push(...answer.body.sessions.map(idOf));
      after = answer.body.next;
    }
    expect(seen).toEqual(all);
  }
  expectError(await served.call("GET", "/sessions?after=x"), 400, "invalid_query");
  const runs = await served.call("GET", "/runs?limit=2&model=TEST");
  const rest = await served.call("GET", `/runs?model=TEST&after=${runs.body.next}`);
  expectReply("GET /runs", rest);
  expect([runs.body.runs.length, rest.body.runs.length, rest.body.next]).toEqual([2, 3, null]);
  expect(new Set([...runs.body.runs, ...rest.body.runs].map((run) => run.run_id)).size).toBe(5);
});

test("a row has the state of its session and its unanswered questions, and times in both forms", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  const row = async () => (await served.call("GET", "/sessions")).body.sessions[0];
  expect(await row()).toMatchObject({ state: "live", status: "idle", permissions: [] });
  await served.call("POST", `/sessions/${id}/turns`, { body: { prompt: "ask" } });
  await eventually(async () => (await row()).status === "waiting");
  const { permissions, created, created_at, updated, last_touched } = await row();
  const whole = await served.call("GET", `/sessions/${id}`);
  expectReply("GET /sessions/{id}", whole);
  expect(whole.body).toMatchObject({ state: "running", status: "waiting", summary: { state: "waiting" } });
  expect(permissions).toMatchObject([{ tool: "Bash", args: { command: "make" }, options: expect.any(Array) }]);
  expect([Date.parse(created), Date.parse(updated)]).toEqual([created_at * 1000, Math.floor(last_touched * 1000)]);
  await served.call("POST", `/sessions/${id}/permissions/${permissions[0].permission_id}`, {
    body: { decision: "allow" },
  });
  await eventually(async () => (await row()).status === "idle");
});

describe("settings", () => {
  const agents = async () => [{ id: "build" }, { id: "plan" }];
  const options = [
    {
      id: "effort",
      choices: [{ id: "low" }, { id: "high" }],
      change: (_: object, value: string) => ({ option: "effort", value }),
    },
  ];

  test("are fields of a new session in both families, and change all or not at all", async () => {
    const served = await serve({ agents, options });
    const asked = { model: "m-2", mode: "auto", agent: "plan", options: { effort: "high", read_only: false } };
    const made = await served.call("POST", "/session", { body: asked });
    const { session_id: id, session_token: token } = made.body;
    const settings = await served.call("GET", `/sessions/${id}/settings`, { token });
    expectReply("GET /sessions/{id}/settings", settings);
    expect(settings.body).toMatchObject({ model: "m-2", mode: "auto", agent: "plan", options: { effort: "high" } });
    const plural = await served.call("POST", "/sessions", { body: { prompt: "say hi", ...asked } });
    const same = await served.call("GET", `/sessions/${plural.body.session_id}/settings`);
    expect(same.body).toMatchObject({ model: "m-2", mode: "auto", agent: "plan", options: { effort: "high" } });

    const patch = (body: object) => served.call("PATCH", `/sessions/${id}`, { body });
    const guest = (body: object) => served.call("PATCH", `/sessions/${id}`, { body, token });
    expectError(await guest({ mode: "auto" }), 403, "admin_only");
    expect((await guest({ title: "Mine" })).body.title).toBe("Mine");
    const changed = await patch({ title: "Named", mode: "read-only", effort: "low" });
    expectReply("PATCH /sessions/{id}", changed);
    expect(changed.body).toMatchObject({ title: "Named", mode: "read-only", model: "m-2", options: { effort: "low" } });
    const before = served.sessions.find(id)!.lastSeq;
    for (const wrong of [
      { model: "m-3", agent: "nobody" },
      { model: "m-3", options: { effort: "none" } },
      { model: "m-3", options: { colour: "red" } },
      { model: "m-3", options: { read_only: "yes" } },
    ]) {
      expectError(await patch(wrong), 400, "invalid_setting");
    }
    // Only the session knows whether these are valid.
    for (const wrong of [{ options: { "engine:zzz": true } }, { model: " " }, { title: "x".repeat(201) }])
      expectError(await patch({ title: "Other", shared: true, mode: "auto", ...wrong }), 400, "invalid_setting");
    expect(served.sessions.find(id)!.lastSeq).toBe(before);
    expectError(await patch({ mode: "wild" }), 400, "invalid_body");
    const kept = { title: "Named", shared: false, model: "m-2", mode: "read-only" };
    expect((await patch({})).body).toMatchObject(kept);
    expectError(await served.call("PATCH", "/sessions/nobody", { body: {} }), 404, "session_not_found");
  });

  test("the effort of a session is what a body says if the application has no list of efforts", async () => {
    const served = await serve({ agents });
    const made = await served.call("POST", "/sessions", { body: { prompt: "say hi", effort: "high" } });
    expect(made.status).toBe(201);
    const { session_id: id } = made.body;
    expect((await served.call("GET", `/sessions/${id}/settings`)).body.options).toMatchObject({ effort: "high" });
    const changed = await served.call("PATCH", `/sessions/${id}`, { body: { effort: "low" } });
    expect(changed.body.options).toMatchObject({ effort: "low" });
  });

  test("models are listed", async () => {
    const price = { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 };
    const known = { context_window: 200_000, max_output: 8192, images: true, thinking: false, price };
    const models = () => [{ id: "m", name: "m", provider: "p", active: true, ...known }];
    const answer = await (await serve({ models })).call("GET", "/models");
    expectReply("GET /models", answer);
    expect(answer.body.models).toEqual(models());
  });
});

test("a prompt carries pictures and files, and they are in the log", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  const content = [
    { type: "image", data: "aGk=", mimeType: "image/png" },
    { type: "resource", resource: { uri: "file:///a.txt", text: "inside" } },
  ];
  const answer = await served.call("POST", `/sessions/${id}/turns`, { body: { prompt: "look", content } });
  expectReply("POST /sessions/{id}/turns", answer);
  const { body } = await served.call("GET", `/sessions/${id}`);
  const message = body.events.find((event: { type: string }) => event.type === "user_message");
  expect(message.metadata.content).toMatchObject([{ type: "text", text: "look" }, ...content]);
  expect(message.metadata.text).toContain("inside");
  const wrong = { prompt: "look", content: [{ type: "image" }] };
  expectError(await served.call("POST", `/sessions/${id}/turns`, { body: wrong }), 400, "invalid_body");
});

describe("event streams", () => {
  test("until=turn ends with the turn, and until=never goes on", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    const forever = await openStream(served, `/sessions/${id}/events?until=never`);
    await runTurn(served, id, "say one");
    await runTurn(served, id, "say two");
    const first = await openStream(served, `/sessions/${id}/events?until=turn`);
    await first.ended;
    expect(first.frames.at(-1)?.event).toBe("end");
    expect(first.frames.filter(({ event }) => event === "agent_result")).toHaveLength(1);
    const cursor = String(first.frames.at(-2)?.id);
    const second = await openStream(served, `/sessions/${id}/events?until=turn`, { "last-event-id": cursor });
    await second.ended;
    expect(second.frames[0]?.id).toBe(Number(cursor) + 1);
    await forever.until((frames) => frames.filter(({ event }) => event === "agent_result").length === 2);
    expect(forever.frames.some(({ event }) => event === "end")).toBe(false);
    expectError(await served.call("GET", `/sessions/${id}/events?until=noon`), 400, "invalid_query");
  });

  test("one stream follows many sessions, and resumes each at its own cursor", async () => {
    const served = await serve();
    const a = (await newSession(served)).id;
    const b = (await newSession(served)).id;
    await runTurn(served, a, "say early");
    const lastOfA = served.sessions.find(a)!.lastSeq;
    const stream = await openStream(served, `/events?session=${a}:${lastOfA - 1}&session=${b}`);
    await runTurn(served, b, "say late");
    const of = (frames: readonly (typeof stream.frames)[number][], id: string) =>
      frames.filter(({ data }) => data.session_id === id).map(({ data }) => data.record.seq);
    const ends = served.sessions.find(b)!.lastSeq;
    await stream.until((frames) => of(frames, a).includes(lastOfA) && of(frames, b).includes(ends));
    expect(of(stream.frames, a)).toEqual([lastOfA]);
    expect(of(stream.frames, b)).toEqual(Array.from({ length: ends }, (_, at) => at + 1));
    const composite = /^id: (.*)$/gm;
    const ids = [...stream.raw().matchAll(composite)].map(([, id]) => id!);
    expect(ids.at(-1)).toBe(`${a}:${lastOfA},${b}:${ends}`);
    stream.leave();
    await runTurn(served, a, "say more");
    const again = await openStream(served, `/events?session=${a}&session=${b}`, { "last-event-id": ids.at(-1)! });
    await again.until((frames) => of(frames, a).includes(served.sessions.find(a)!.lastSeq));
    expect(of(again.frames, a)[0]).toBe(lastOfA + 1);
    expect(of(again.frames, b)).toEqual([]);
    const many = Array.from({ length: LIMITS.streamedSessions + 1 }, (_, at) => `session=s-${at}`).join("&");
    expectError(await served.call("GET", `/events?${many}`), 400, "invalid_query");
    expectError(await served.call("GET", "/events?session=nobody"), 404, "session_not_found");
  });

  test.each([
    ["blank", () => " ", 0],
    ["a word", () => "null", 0],
    ["only commas", () => ",,", 0],
    ["negative", (id: string) => `${id}:-1`, 0],
    ["a fraction", (id: string) => `${id}:3.5`, 0],
    ["of a session that was not asked for", () => "otter-other:3", 0],
    ["a number between words", (id: string) => `x:y, ${id}:3 ,:`, 3],
    ["past the end", (id: string) => `${id}:99999999999999999999`, 8],
  ])("a last event id of many sessions that is %s is read as that of one session", async (_, lastId, from) => {
    const served = await serve();
    const { id } = await newSession(served);
    await runTurn(served, id, "say hello");
    expect(served.sessions.find(id)!.lastSeq).toBe(8);
    const stream = await openStream(served, `/events?session=${id}`, { "last-event-id": lastId(id) });
    expect(stream.response.status).toBe(200);
    await runTurn(served, id, "say more");
    const seqs = () => stream.frames.map(({ data }) => data.record.seq);
    await stream.until(() => seqs().at(-1) === served.sessions.find(id)!.lastSeq);
    expect(seqs()[0]).toBe(from + 1);
  });

  test("a slow peer that begins past the end of a log gets every later record", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    const { id: other } = await newSession(served);
    const headers = { authorization: `Bearer ${MASTER}`, host: "localhost" };
    const path = `http://localhost/events?session=${other}&session=${id}:999999`;
    // Nobody reads this answer yet.
    const slow = await served.app.request(path, { headers });
    const quick = await openStream(served, `/events?session=${other}&session=${id}:999999`);
    const said = (one: string) =>
      quick.until((frames) =>
        frames.some(({ data }) => data.session_id === one && data.record.type === "agent_result"),
      );
    await runTurn(served, other, `say ${"x".repeat(100_000)}`);
    await said(other);
    await runTurn(served, id, "say hello");
    await said(id);
    let text = "";
    for await (const chunk of slow.body!) {
      text += Buffer.from(chunk).toString();
      if (text.includes('"output":"hello"')) break;
    }
    expect(text).toContain(`"session_id":"${id}"`);
  });

  test("a stream of many sessions does not add a listener for each to one signal", async () => {
    const warnings: string[] = [];
    const note = ({ message }: Error) => warnings.push(message);
    process.on("warning", note);
    onTestFinished(() => void process.off("warning", note));
    const served = await serve();
    const ids: string[] = [];
    for (let i = 0; i < 12; i++) ids.push((await newSession(served)).id);
    const stream = await openStream(served, `/events?list=true&${ids.map((id) => `session=${id}`).join("&")}`);
    await runTurn(served, ids[11]!, "say late");
    await stream.until((frames) => frames.some(({ data }) => data.record?.type === "agent_result"));
    stream.leave();
    expect(warnings).toEqual([]);
  });

  test("changes of the list are a stream: made, running, waiting, named, unloaded, deleted", async () => {
    const served = await serve();
    const stream = await openStream(served, "/events?list=true");
    const { id } = await newSession(served);
    await served.call("POST", `/sessions/${id}/turns`, { body: { prompt: "ask" } });
    const states = () => stream.frames.map(({ data }) => data.row && `${data.row.state} ${data.row.status}`);
    await stream.until(() => states().includes("live waiting"));
    const waiting = stream.frames.find(({ data }) => data.row.status === "waiting")!.data.row;
    expect(waiting.permissions).toMatchObject([{ tool: "Bash" }]);
    await served.call("POST", `/sessions/${id}/cancel`);
    await served.sessions.find(id)!.idle();
    await served.sessions.close(id);
    await stream.until(() => states().includes("persisted idle"));
    await served.call("DELETE", `/sessions/${id}`);
    await stream.until(() => states().at(-1) === null);
    expect(states()).toContain("live running");
  });
});

describe("a look into a session", () => {
  test("shows files and directories below its own, up to a limit", async () => {
    const outside = scratch();
    writeFileSync(join(outside, "secret"), "canary");
    const served = await serve();
    const { id, token } = await newSession(served);
    mkdirSync(join(served.cwd, "src"));
    writeFileSync(join(served.cwd, "src", "a.txt"), "grüße");
    writeFileSync(join(served.cwd, "binary"), Buffer.from([0, 255]));
    writeFileSync(join(served.cwd, "large"), "ü".repeat(LIMITS.fileBytes));
    symlinkSync(outside, join(served.cwd, "way-out"));
    symlinkSync("src/a.txt", join(served.cwd, "inner"));
    const look = (path: string) => served.call("GET", `/sessions/${id}/files?path=${encodeURIComponent(path)}`);
    const root = await served.call("GET", `/sessions/${id}/files`);
    expectError(await served.call("GET", `/sessions/${id}/files`, { token }), 403, "admin_only");
    expectReply("GET /sessions/{id}/files", root);
    expect(root.body.entries.map(({ name, type }: { name: string; type: string }) => `${name} ${type}`)).toEqual([
      "binary file",
      "inner link",
      "large file",
      "src directory",
      "way-out link",
    ]);
    const file = await look("src/a.txt");
    expectReply("GET /sessions/{id}/files", file);
    expect(file.body).toMatchObject({ path: "src/a.txt", encoding: "utf-8", content: "grüße", truncated: false });
    expect((await look("inner")).body.content).toBe("grüße");
    expect((await look("binary")).body).toMatchObject({ encoding: "base64", content: "AP8=" });
    const large = await look("large");
    expect(large.body).toMatchObject({ truncated: true, encoding: "utf-8", size: 2 * LIMITS.fileBytes });
    expect(large.body.content).toHaveLength(LIMITS.fileBytes / 2);
    for (const path of ["..", "../..", "/etc/passwd", "way-out", "way-out/secret", "src/../../x", "a\0b"]) {
      const answer = await look(path);
      expect([path, [400, 404].includes(answer.status)]).toEqual([path, true]);
      expect(answer.text).not.toContain("canary");
    }
    expectError(await look("absent"), 404, "file_not_found");
  });

  test("shows the changes of each turn, with their diffs", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    await runTurn(served, id, "write a.txt one");
    await runTurn(served, id, "write a.txt two");
    const all = await served.call("GET", `/sessions/${id}/changes`);
    expectReply("GET /sessions/{id}/changes", all);
    expect(all.body.turns).toMatchObject([
      { turn: 0, files: [{ path: join(served.cwd, "a.txt"), change: "add" }] },
      { turn: 1, files: [{ change: "update" }] },
    ]);
    const one = await served.call("GET", `/sessions/${id}/changes?turn=1&diff=true`);
    expectReply("GET /sessions/{id}/changes", one);
    expect(one.body.turns).toMatchObject([{ turn: 1, files: [{ diff: expect.stringContaining("+two") }] }]);
    await served.call("POST", `/sessions/${id}/undo`);
    expect((await served.call("GET", `/sessions/${id}/changes`)).body.turns).toHaveLength(1);
  });

  test("shows the attached clients", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    const clients = async () => (await served.call("GET", `/sessions/${id}/clients`)).body.clients;
    expect(await clients()).toEqual([]);
    const { detach } = served.sessions.attach(id, { transport: "acp", name: "Zed", approves: true });
    const stream = await openStream(served, `/sessions/${id}/events`, { "user-agent": "a page" });
    await eventually(async () => (await clients()).length === 2);
    const answer = await served.call("GET", `/sessions/${id}/clients`);
    expectReply("GET /sessions/{id}/clients", answer);
    expect(answer.body.clients).toMatchObject([
      { transport: "acp", name: "Zed", approves: true },
      { transport: "stream", name: "a page", approves: false },
    ]);
    detach();
    stream.leave();
    await eventually(async () => (await clients()).length === 0);
  });

  test("a reader of many sessions is counted among the clients of each, until it leaves", async () => {
    const served = await serve();
    const [{ id: one }, { id: other }] = [await newSession(served), await newSession(served)];
    const stream = await openStream(served, `/events?session=${one}&session=${other}`, { "user-agent": "a page" });
    const clients = async (id: string) => (await served.call("GET", `/sessions/${id}/clients`)).body.clients;
    for (const id of [one, other]) {
      await eventually(async () => (await clients(id)).length === 1);
      expect(await clients(id)).toMatchObject([{ transport: "stream", name: "a page", approves: false }]);
    }
    stream.leave();
    for (const id of [one, other]) await eventually(async () => (await clients(id)).length === 0);
  });

  test("the slash commands of a session are the program's and those of its directory", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    const answer = await served.call("GET", `/sessions/${id}/commands`);
    expectReply("GET /sessions/{id}/commands", answer);
    const names = answer.body.commands.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["help", "undo", "model"]));
    expect(new Set(names).size).toBe(names.length);
    expectError(await served.call("GET", "/sessions/nobody/commands"), 404, "session_not_found");
  });

  test("search finds a session by what was said, across deltas", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    await runTurn(served, id, "say The Quick brown fox");
    await runTurn(served, (await newSession(served)).id, "say nothing");
    const answer = await served.call("GET", "/search?q=quick%20BROWN&limit=5");
    expectReply("GET /search", answer);
    expect(answer.body).toMatchObject({ searched: 2, hits: [{ session_id: id, turn: 0 }] });
    expectError(await served.call("GET", "/search"), 400, "invalid_query");
  });

  test("a deletion reports what it removes, in a dry run and when it is done", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    await runTurn(served, id, "write a.txt one");
    const records = served.sessions.find(id)!.lastSeq;
    const dry = await served.call("DELETE", `/sessions/${id}?dry_run=true`);
    expectReply("DELETE /sessions/{id}", dry, 200);
    expect(dry.body).toEqual({ session_id: id, deleted: false, records, turns: 1, snapshots: 1 });
    expect((await served.call("GET", `/sessions/${id}`)).status).toBe(200);
    const gone = await served.call("DELETE", `/sessions/${id}`, { headers: { prefer: "return=representation" } });
    expect([gone.status, gone.body]).toEqual([200, { ...dry.body, deleted: true }]);
    expectError(await served.call("GET", `/sessions/${id}`), 404, "session_not_found");
  });
});

test("a server that drains finishes running turns, refuses new ones, and is not ready", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  expectReply("GET /readyz", await served.call("GET", "/readyz", { token: null }));
  await served.call("POST", `/sessions/${id}/turns`, { body: { prompt: "ask" } });
  served.app.drain();
  const ready = await served.call("GET", "/readyz", { token: null });
  expectError(ready, 503, "draining");
  expect([ready.body.status, ready.body.request_id]).toEqual(["draining", ready.headers.get("x-request-id")]);
  expect(ready.headers.get("retry-after")).toBe("1");
  expect((await served.call("GET", "/health", { token: null })).status).toBe(200);
  for (const [path, body] of [
    ["/sessions", { prompt: "say hi" }],
    [`/sessions/${id}/turns`, { prompt: "say hi" }],
    [`/session/${id}/message`, { text: "say hi" }],
  ] as const) {
    const refused = await served.call("POST", path, { body });
    expectError(refused, 503, "draining");
    expect(refused.headers.get("retry-after")).toBe("1");
  }
  await eventually(() => served.sessions.find(id)!.openPermissions.size === 1);
  const [pid] = served.sessions.find(id)!.openPermissions.keys();
  expect((await served.call("POST", `/sessions/${id}/permissions/${pid}`, { body: { decision: "deny" } })).status).toBe(
    200,
  );
  await served.sessions.find(id)!.idle();
});

function idOf(row: { session_id: string }): string {
  return row.session_id;
}
