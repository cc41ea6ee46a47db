import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { Sessions } from "@chimera/session";
import { describe, expect, test } from "vitest";
import { eventually, MASTER, newSession, openStream, runTurn, scratch, sendRaw, serve } from "./fixture.js";
import { expectError, expectReply } from "./shape.js";

describe("the plural family", () => {
  test("a prompt starts a session, which can then be read whole", async () => {
    const served = await serve();
    const created = await served.call("POST", "/sessions", { body: { prompt: "say hello" } });
    expectReply("POST /sessions", created);
    expect(created.body).toMatchObject({ status: "running", session_token: expect.stringMatching(/^[\w-]{43}$/) });
    const id = created.body.session_id;
    await served.sessions.find(id)!.idle();
    const detail = await served.call("GET", `/sessions/${id}`);
    expectReply("GET /sessions/{id}", detail);
    expect(detail.body).toMatchObject({
      state: "idle",
      step_count: 1,
      summary: { success: true, prompt: "say hello", cwd: served.cwd },
    });
    expect(detail.body.events.map((event: { seq: number }) => event.seq)).toEqual(
      Array.from({ length: detail.body.event_count }, (_, index) => index + 1),
    );
    expect(detail.body.events.at(-1)).toMatchObject({ type: "agent_result", metadata: { output: "hello" } });
  });

  test("a turn is added to a session, and waits for the running one", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    const first = await served.call("POST", `/sessions/${id}/turns`, { body: { prompt: "wait" } });
    expectReply("POST /sessions/{id}/turns", first);
    const second = await served.call("POST", `/sessions/${id}/turns`, { body: { prompt: "say next" } });
    expect([first.body, second.body]).toEqual([
      { session_id: id, status: "running", message_id: "msg-0" },
      { session_id: id, status: "queued", message_id: "msg-1" },
    ]);
    expect((await served.call("POST", `/sessions/${id}/cancel`)).status).toBe(204);
    await served.sessions.find(id)!.idle();
    const { body } = await served.call("GET", `/sessions/${id}`);
    expect(body.events.filter((event: { type: string }) => /cancelled|agent_result/.test(event.type))).toMatchObject([
      { type: "cancelled", turn: 0 },
      { type: "agent_result", turn: 1, metadata: { output: "next" } },
    ]);
  });

  test("a title is one line of limited length, seen by readers and in lists, and durable when it is acknowledged", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    const name = (body: object) => served.call("POST", `/sessions/${id}/title`, { body });
    const answer = await name({ title: "  Two\n words " });
    expectReply("POST /sessions/{id}/title", answer);
    expect(answer.body).toEqual({ session_id: id, title: "Two words" });
    const { body } = await served.call("GET", `/sessions/${id}`);
    expect(body.summary.title).toBe("Two words");
    expect(body.events.at(-1)).toMatchObject({ type: "title_changed", metadata: { title: "Two words" } });
    expectError(await name({}), 400, "missing_title");
    expectError(await name({ title: "x".repeat(201) }), 400, "invalid_setting");
    expectError(
      await served.call("POST", "/sessions/nobody/title", { body: { title: "x" } }),
      404,
      "session_not_found",
    );
    expect((await name({ title: " " })).body.title).toBe("");
  });

  test("a list has live and persisted sessions, the last touched first, and is filtered by the query", async () => {
    const root = scratch();
    const before = await serve({ root });
    const ids: string[] = [];
    for (const model of ["m-1", "m-2", "m-1"]) {
      const { body } = await before.call("POST", "/sessions", { body: { prompt: `say ${model}`, model } });
      await before.sessions.find(body.session_id)!.idle();
      ids.push(body.session_id);
    }
    await before.stop();
    const served = await serve({ root });
    const { id: live } = await newSession(served);
    const list = async (query = "") => {
      const answer = await served.call("GET", `/sessions${query}`);
      expectReply("GET /sessions", answer);
      return answer.body.sessions.map((row: { session_id: string }) => row.session_id);
    };
    expect((await list())[0]).toBe(live);
    expect(new Set(await list())).toEqual(new Set([live, ...ids]));
    expect(await list("?state=live")).toEqual([live]);
    expect(new Set(await list("?state=persisted"))).toEqual(new Set(ids));
    // Live ones are counted: decision 0050.
    expect(await list("?limit=1")).toEqual([live]);
    expect(await list("?limit=2")).toHaveLength(2);
    expect(await list("?state=persisted&limit=1")).toHaveLength(1);
    expect(await list("?model=m-2")).toEqual([ids[1]]);
    expect(await list("?model=&state=&since=&limit=%20")).toEqual(await list());
    expect(await list("?since=1h")).toHaveLength(4);
    expect(await list("?since=2100-01-01")).toEqual([]);
    for (const query of ["?limit=many", "?since=yesterday", "?since=1y", "?state=dead"]) {
      expectError(await served.call("GET", `/sessions${query}`), 400, "invalid_query");
    }
  });

  test("persist: false leaves nothing on disk", async () => {
    const served = await serve();
    const { body } = await served.call("POST", "/sessions", { body: { prompt: "say hush", persist: false } });
    await served.sessions.find(body.session_id)!.idle();
    expect((await served.call("GET", `/sessions/${body.session_id}`)).body.event_count).toBeGreaterThan(3);
    expect(await served.store.has(body.session_id)).toBe(false);
  });

  test("a fork branches at the end of a turn, with a token of its own", async () => {
    const served = await serve();
    const { id } = await newSession(served);
    expectError(await served.call("POST", `/sessions/${id}/fork`), 409, "nothing_to_fork");
    await runTurn(served, id, "say one");
    await runTurn(served, id, "say two");
    const fork = await served.call("POST", `/sessions/${id}/fork`, { body: { turn: 0 } });
    expectReply("POST /sessions/{id}/fork", fork);
    const { session_id, session_token, parent_id } = fork.body;
    expect(parent_id).toBe(id);
    const { body } = await served.call("GET", `/sessions/${session_id}`, { token: session_token });
    expect(body.events.map((event: { type: string }) => event.type).slice(-2)).toEqual(["agent_result", "forked"]);
  });
});

describe("the singular family", () => {
  test("a session is made, described, prompted and torn down", async () => {
    const served = await serve();
    const created = await served.call("POST", "/session", { body: { working_dir: served.cwd } });
    expectReply("POST /session", created);
    const id = created.body.session_id;
    expect((await served.call("GET", "/session")).body).toEqual({ sessions: [id] });
    const message = await served.call("POST", `/session/${id}/message`, { body: { text: "say hi" } });
    expectReply("POST /session/{id}/message", message);
    await served.sessions.find(id)!.idle();
    const snapshot = await served.call("GET", `/session/${id}`);
    expectReply("GET /session/{id}", snapshot);
    expect(snapshot.body.event_count).toBeGreaterThan(4);
    expect((await served.call("POST", `/session/${id}/cancel`)).status).toBe(204);
    expect((await served.call("DELETE", `/session/${id}`)).status).toBe(204);
    expectError(await served.call("GET", `/session/${id}`), 404, "session_not_found");
    // The log is kept, as a record of what happened.
    expect((await served.call("GET", `/sessions/${id}`)).body.summary).toMatchObject({ closed: true });
    expectError(
      await served.call("POST", `/sessions/${id}/turns`, { body: { prompt: "x" } }),
      404,
      "session_not_found",
    );
  });

  test("the row of a session is the same in memory and stored", async () => {
    let now = Date.parse("2026-11-19T12:00:00.622Z");
    const served = await serve({ ttl: 60, clock: () => now, monotonic: () => now, startOptions: { engine: "own" } });
    const { id } = await newSession(served);
    await runTurn(served, id, "say hi");
    const row = async () => {
      const { sessions } = (await served.call("GET", "/sessions")).body;
      const { state, event_count, last_touched, updated, ...same } = sessions[0];
      return [state, same];
    };
    const [live, before] = await row();
    const { created, created_at } = (await served.call("GET", `/session/${id}`)).body;
    now += 61_000;
    served.sessions.evictIdle();
    await eventually(() => served.sessions.find(id) === undefined);
    expect(live).toBe("live");
    // The summary is written a moment after the records.
    await expect.poll(row, { timeout: 10_000 }).toEqual(["persisted", before]);
    expect(before).toMatchObject({ created, created_at, engine: "own" });
    expect((await served.call("GET", `/session/${id}`)).body).toMatchObject({ created, created_at });
  });

  test("an evicted session ends its streams and is loaded again on demand", async () => {
    let now = 1_800_000_000_000;
    const served = await serve({ ttl: 60, clock: () => now, monotonic: () => now });
    const { id, token } = await newSession(served);
    await runTurn(served, id, "say hi");
    const stream = await openStream(served, `/session/${id}/events?from=live`);
    now += 61_000;
    expect((await served.call("GET", "/session")).body).toEqual({ sessions: [] });
    await stream.ended;
    expect((await served.call("GET", `/session/${id}`, { token })).status).toBe(401);
    expect((await served.call("GET", `/session/${id}`)).status).toBe(200);
    const { body } = await served.call("POST", `/session/${id}/rotate-token`);
    expect((await served.call("GET", `/session/${id}`, { token: body.session_token })).status).toBe(200);
  });
});

test("a restart keeps sessions and their numbers, and forgets tokens", async () => {
  const root = scratch();
  const before = await serve({ root });
  const { id, token } = await newSession(before);
  await runTurn(before, id, "say before");
  const { body: old } = await before.call("GET", `/sessions/${id}`);
  await before.stop();
  const after = await serve({ root });
  expect((await after.call("GET", `/session/${id}`, { token })).status).toBe(401);
  await runTurn(after, id, "say after");
  const { body } = await after.call("GET", `/sessions/${id}`);
  expect(body.events.slice(0, old.event_count)).toEqual(old.events);
});

test("sessions run side by side with disjoint histories", async () => {
  const served = await serve();
  const ids = await Promise.all(Array.from({ length: 20 }, async () => (await newSession(served)).id));
  await Promise.all(ids.map((id, index) => runTurn(served, id, `say number ${index}`)));
  for (const [index, id] of ids.entries()) {
    const { body } = await served.call("GET", `/sessions/${id}`);
    expect(body.events.at(-1).metadata.output).toBe(`number ${index}`);
  }
});

/** Ids that are a path, a name of a device, or nothing at all. */
const IDS = [
  "..",
  "../../etc",
  "..%2f..%2fetc",
  "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
  "....//....//etc",
  "otter-x%00.json",
  "otter-x%0a",
  "~root",
  "otter-x;ls",
  "//evil.test/x",
  "__proto__",
  "constructor",
  "CON",
  "nul.txt",
  ".",
  "%2E.",
  "x\\..",
  "./otter-x",
  ".hidden",
  "%",
  "%zz",
  "otter-20260101T000000-00000000",
  "x".repeat(4000),
];

test.each(IDS)("the id %j is not found, on any route", async (id) => {
  const served = await serve();
  for (const [method, path] of [
    ["GET", `/sessions/${id}`],
    ["GET", `/session/${id}`],
    ["DELETE", `/sessions/${id}`],
    ["DELETE", `/session/${id}`],
    ["GET", `/sessions/${id}/events`],
    ["GET", `/session/${id}/events`],
    ["POST", `/sessions/${id}/cancel`],
    ["POST", `/sessions/${id}/rotate-token`],
    ["GET", `/runs/${id}`],
    ["GET", `/sessions/${id}/snapshots`],
  ]) {
    const lines = [`${method} ${path} HTTP/1.1`, "Host: localhost", "Authorization: Bearer master-secret"];
    const { status } = await sendRaw(served.port, `${[...lines, "Connection: close"].join("\r\n")}\r\n\r\n`);
    expect([400, 404, 405].map((each) => `${method} ${path}: ${each}`)).toContain(`${method} ${path}: ${status}`);
  }
  expect(served.logged).toEqual([]);
});

test("a working directory must be an absolute path of an existing directory", async () => {
  const served = await serve();
  const file = join(scratch(), "file");
  writeFileSync(file, "");
  for (const working_dir of ["relative", "../up", "", "/nul\0byte", "/no/such/place", file]) {
    expectError(await served.call("POST", "/session", { body: { working_dir } }), 400, "invalid_working_dir");
  }
  for (const cwd of [".", "/no/such/place", file]) {
    expectError(await served.call("POST", "/sessions", { body: { prompt: "x", cwd } }), 400, "invalid_cwd");
  }
});

test("a field that is null counts as absent", async () => {
  const served = await serve();
  const optional = { model: null, max_steps: null, cwd: null, allowed_tools: null, persist: null };
  expectReply("POST /sessions", await served.call("POST", "/sessions", { body: { prompt: "say hello", ...optional } }));
  expectReply("POST /session", await served.call("POST", "/session", { body: { working_dir: null } }));
  expectError(await served.call("POST", "/sessions", { body: { prompt: null } }), 400, "missing_prompt");
});

test("a session that is shown as idle has the last record of its last turn", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  const session = served.sessions.find(id)!;
  const { logs } = served.sessions;
  // The turn ends between two questions to the store.
  const busy = {
    ...served.sessions,
    logs: {
      ...logs,
      async lastSeq() {
        const seq = await logs.lastSeq(id);
        session.cancel();
        await session.idle();
        return seq;
      },
    },
  } as unknown as Sessions;
  const asked = await serve({ sessions: busy });
  session.prompt({ text: "wait" });
  await eventually(() => session.state === "running");
  const { body } = await asked.call("GET", `/sessions/${id}`);
  expect(session.state).toBe("idle");
  expect(body.events.at(-1).type).not.toBe("cancelled");
  expect(body.state).toBe("running");
});

describe("custom commands", () => {
  const withCommand = async () => {
    const cwd = scratch();
    mkdirSync(join(cwd, ".opencode", "command"), { recursive: true });
    writeFileSync(
      join(cwd, ".opencode", "command", "summarize.md"),
      "---\ndescription: Summarize $1\nargs:\n  - name: target\n    description: the subject\n---\nSummarize $1, mind $TARGET.\n",
    );
    return serve({ defaultCwd: cwd });
  };

  test("are listed, and an empty palette is an empty list", async () => {
    const served = await withCommand();
    const listed = await served.call("GET", "/commands");
    expectReply("GET /commands", listed);
    expect(listed.body.commands).toMatchObject([
      { name: "summarize", description: "Summarize $1", args: [{ name: "target", description: "the subject" }] },
    ]);
    expect((await (await serve()).call("GET", "/commands")).body).toEqual({ commands: [] });
  });

  test("are rendered into a prompt of a session", async () => {
    const served = await withCommand();
    const { id } = await newSession(served);
    const body = { session_id: id, args: ["chapter 7"], kwargs: { target: "the end" } };
    const invoked = await served.call("POST", "/commands/summarize/invoke", { body });
    expectReply("POST /commands/{name}/invoke", invoked);
    expect(invoked.body).toEqual({
      message_id: "msg-0",
      name: "summarize",
      rendered: "Summarize chapter 7, mind the end.",
    });
    await eventually(() => served.sessions.find(id)!.state === "idle");
    const { body: detail } = await served.call("GET", `/sessions/${id}`);
    expect(detail.events.at(-1).metadata.output).toBe("echo: Summarize chapter 7, mind the end.");
  });

  test("accept numbers and booleans as arguments", async () => {
    const served = await withCommand();
    const { id } = await newSession(served);
    const body = { session_id: id, args: [7], kwargs: { Target: true } };
    const invoked = await served.call("POST", "/commands/summarize/invoke", { body });
    expect(invoked.body).toMatchObject({ rendered: "Summarize 7, mind true." });
    for (const args of [[null], [{}], [[]]]) {
      const refused = await served.call("POST", "/commands/summarize/invoke", { body: { session_id: id, args } });
      expectError(refused, 400, "args_must_be_list");
    }
  });

  test("explain a wrong invocation", async () => {
    const served = await withCommand();
    const { id } = await newSession(served);
    const invoke = (name: string, body: unknown) => served.call("POST", `/commands/${name}/invoke`, { body });
    for (const session_id of [undefined, "", 5, null]) {
      expectError(await invoke("summarize", { session_id }), 400, "missing_session_id");
    }
    expectError(await invoke("summarize", { session_id: id, args: "x" }), 400, "args_must_be_list");
    expectError(await invoke("summarize", { session_id: id, kwargs: [] }), 400, "kwargs_must_be_object");
    expectError(await invoke("summarize", { session_id: "nope" }), 404, "session_not_found");
    for (const name of ["nope", "..%2f..%2fx", ".hidden", "summarize.md", "__proto__", "x".repeat(300)]) {
      expectError(await invoke(name, { session_id: id }), 404, "command_not_found");
    }
  });
});

test.each([
  ["begun is an error", 0, true],
  ["finished is cut short", 10_000, false],
])("an answer that cannot be %s; only the log has the failure", async (_, to, isWhole) => {
  const served = await serve();
  const { id } = await newSession(served);
  await runTurn(served, id, `say ${"x".repeat(200_000)}`);
  const { logs } = served.sessions;
  const failing = {
    ...served.sessions,
    logs: {
      ...logs,
      async *read() {
        for await (const entry of logs.read(id)) if (entry.seq <= to) yield entry;
        throw new Error("/secret/path is gone");
      },
    },
  } as unknown as Sessions;
  const broken = await serve({ sessions: failing });
  const lines = [
    `GET /sessions/${id} HTTP/1.1`,
    "Host: localhost",
    `Authorization: Bearer ${MASTER}`,
    "Connection: close",
  ];
  const { status, text } = await sendRaw(broken.port, `${lines.join("\r\n")}\r\n\r\n`);
  expect(text).not.toContain("secret");
  expect(status).toBe(isWhole ? 500 : 200);
  if (isWhole) expect(text).toContain("internal_error");
  else expect(text).not.toMatch(/\r\n0\r\n\r\n$/);
  expect(broken.logged.join()).toContain("/secret/path is gone");
  expect((await broken.call("GET", "/health")).status).toBe(200);
});

test("a HEAD request reads no log", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  await runTurn(served, id, `say ${"x".repeat(200_000)}`);
  const { logs } = served.sessions;
  let open = 0;
  const counting = {
    ...served.sessions,
    logs: {
      ...logs,
      async *read() {
        open++;
        yield* logs.read(id);
        open--;
      },
    },
  } as unknown as Sessions;
  const counted = await serve({ sessions: counting });
  const head = await counted.call("HEAD", `/sessions/${id}`);
  expect([head.status, head.headers.get("content-type"), head.text]).toEqual([200, "application/json", ""]);
  expect((await counted.call("GET", `/sessions/${id}`)).body.events.length).toBeGreaterThan(0);
  expect(open).toBe(0);
});

test("a peer that leaves in the middle of a long answer is not a failure of the server", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  for (let turn = 0; turn < 4; turn++) await runTurn(served, id, `say ${"x".repeat(500_000)}`);
  for (let peer = 0; peer < 40; peer++) {
    const socket = connect(served.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(`GET /sessions/${id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${MASTER}\r\n\r\n`);
    await once(socket, "data");
    socket.destroy();
  }
  await eventually(async () => (await served.connections()) === 0);
  await served.stop();
  expect(served.logged).toEqual([]);
});
