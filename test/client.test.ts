// The typed client against built servers: every route, streams through kills and cuts, prompts that are sent again.
import { getEventListeners } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { SessionRecord } from "@chimera/acp-schema/events";
import { routes } from "@chimera/acp-schema/http";
import { type Client, createClient, type RouteName, serverEvents } from "@chimera/client";
import { startServer } from "@chimera/client/node";
import { validateAnswer } from "@chimera/client/validate";
import { expect, onTestFinished, test } from "vitest";
import { addressOf, startProgram } from "./program.js";
import { repositoryRoot, scratchTree } from "./scratch.js";
import { freePort } from "./server.js";

const KILLS = Number(process.env["CHIMERA_KILLS"] ?? 20);
const CUTS = Number(process.env["CHIMERA_CUTS_OF_STREAMS"] ?? 1000);

const script = (turns: object[]) =>
  join(scratchTree({ "script.json": JSON.stringify({ repeat: true, turns }) }), "script.json");
const speech = (chunks: number, delayMs: number) =>
  `scripted:${script([{ steps: [{ reply: [{ text: "word ".repeat(chunks), chunks, delayMs }] }] }])}`;

async function serve(args: string[] = [], files: Record<string, string> = {}): Promise<Client & { url: string }> {
  const cwd = scratchTree({ "README.md": "# A workspace\n", ...files });
  const url = await addressOf(startProgram("otter", ["serve", "--port", "0", ...args], {}, { cwd }));
  return { ...createClient({ url, validate: validateAnswer }), url };
}

const INITIALIZE = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } };

/** Calls the routes that stream, each until something came of it. Returns their names. */
async function streams(client: Client, url: string, id: string): Promise<RouteName[]> {
  for await (const record of client.sessions.open(id).follow()) expect(record.seq).toBeGreaterThan(0);
  for await (const event of client.watch({ sessions: { [id]: 0 } })) if (event.type === "record") break;
  const connection = await connectAcp(url);
  for (const [path, headers] of [
    [`/session/${id}/events`, {}],
    ["/acp", connection],
  ] as const) {
    const stop = new AbortController();
    const response = await fetch(url + path, {
      headers: { accept: "text/event-stream", ...headers },
      signal: stop.signal,
    });
    expect([path, response.status, response.headers.get("content-type")]).toEqual([path, 200, "text/event-stream"]);
    if (path !== "/acp") for await (const [event] of serverEvents(response, stop.signal)) if (event) break;
    stop.abort();
  }
  return ["GET /sessions/{id}/events", "GET /events", "GET /session/{id}/events", "GET /acp"];
}

/** The client names no connection of ACP by itself: the header that does. */
async function connectAcp(url: string): Promise<Record<string, string>> {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const response = await fetch(`${url}/acp`, { method: "POST", headers, body: JSON.stringify(INITIALIZE) });
  return { "acp-connection-id": response.headers.get("acp-connection-id") ?? "" };
}

test("every route of the table is called through the client, and succeeds", async () => {
  const client = await serve(["--model", speech(3, 0)], { ".opencode/command/greet.md": "Greet $1" });
  const called = new Set<RouteName>();
  const call: Client["call"] = (route, ...rest) => {
    called.add(route);
    return client.call(route, ...rest);
  };
  for (const route of Object.keys(routes) as RouteName[]) {
    if (/^GET [^{]*$/.test(route) && !("stream" in routes[route]) && route !== "GET /search")
      await call(route as "GET /ping", {});
  }
  await call("GET /search", { query: { q: "word" } });
  const { session_id: id } = await call("POST /sessions", { body: { prompt: "go", mode: "auto" } });
  const session = client.sessions.open(id);
  expect(await session.turn(0).result()).toMatchObject({ success: true, output: "word word word " });
  await call("POST /sessions/{id}/turns", { id, body: { prompt: "write a.txt: hello" } });
  for await (const _ of session.follow());
  await call("GET /sessions/{id}", { id });
  await call("PATCH /sessions/{id}", { id, body: { title: "Named" } });
  await call("GET /sessions/{id}/settings", { id });
  await call("GET /sessions/{id}/clients", { id });
  await call("GET /sessions/{id}/files", { id, query: { path: "README.md" } });
  await call("GET /sessions/{id}/changes", { id, query: { diff: "true" } });
  await call("GET /sessions/{id}/permissions", { id });
  expect(await call("GET /sessions/{id}/questions", { id })).toEqual({ questions: [] });
  expect((await call("GET /sessions/{id}/commands", { id })).commands).not.toEqual([]);
  await call("GET /sessions/{id}/snapshots", { id });
  await call("GET /sessions/{id}/transcript", { id, query: { format: "md" } });
  await call("POST /sessions/{id}/title", { id, body: { title: "x" } });
  await call("POST /sessions/{id}/cancel", { id });
  await call("POST /sessions/{id}/undo", { id, body: {} });
  await call("POST /sessions/{id}/redo", { id, body: {} });
  await call("POST /sessions/{id}/share", { id, body: { sink: "stdout", format: "md" } });
  await call("POST /sessions/{id}/fork", { id });
  await call("POST /sessions/{id}/rotate-token", { id });
  for (const name of await streams(client, client.url, id)) called.add(name);
  const { code } = await call("POST /page/codes", {});
  const page = await call("POST /page/tokens", { body: { code } });
  await call("DELETE /page/tokens/{token_id}", { token_id: page.id });
  await expect(call("POST /acp", {})).rejects.toMatchObject({ name: "ClientError", status: 400, code: "unexpected" });
  await expect(call("DELETE /acp", {})).rejects.toMatchObject({ name: "ClientError", code: "connection_missing" });
  expect(await call("POST /acp", { body: INITIALIZE })).toMatchObject({ id: 1, result: { protocolVersion: 1 } });
  await createClient({ url: client.url, headers: await connectAcp(client.url) }).call("DELETE /acp", {});
  const { session_id: older } = await call("POST /session", { body: {} });
  await call("GET /session/{id}", { id: older });
  await call("POST /session/{id}/message", { id: older, body: { text: "go" } });
  await call("POST /session/{id}/cancel", { id: older });
  await call("POST /session/{id}/rotate-token", { id: older });
  const greeting = { session_id: older, args: ["them"] };
  expect(await call("POST /commands/{name}/invoke", { name: "greet", body: greeting })).toMatchObject({
    rendered: "Greet them",
  });
  await call("DELETE /session/{id}", { id: older });
  const run = await call("POST /runs", {
    body: { agent_name: "otter", input: [{ role: "user", parts: [{ content: "go" }] }] },
  });
  await call("GET /runs/{run_id}", { run_id: run.run_id });
  await call("GET /runs/{run_id}/events", { run_id: run.run_id });
  await call("POST /runs/{run_id}/cancel", { run_id: run.run_id });
  await call("GET /agents/{name}", { name: "otter" });
  expect(await call("DELETE /sessions/{id}", { id })).toMatchObject({ deleted: true, session_id: id });
  for (const name of await askedAndChanged()) called.add(name);
  expect([...called].sort()).toEqual(Object.keys(routes).sort());
});

/** Calls the routes that answer what a turn asks, and those for what it changed. Returns their names. */
async function askedAndChanged(): Promise<RouteName[]> {
  const ask = { call: "ask", args: { question: "What?", options: ["hi"] } };
  const write = { call: "Write", args: { path: "a.txt", content: "hi" } };
  const steps = [{ reply: [ask] }, { reply: [write] }, { reply: [{ text: "done" }] }];
  const { call, sessions } = await serve(["--model", `scripted:${script([{ steps }])}`]);
  const session = await sessions.create();
  const { id } = session;
  for (const answer of [
    (pid: string) => call("POST /sessions/{id}/permissions/{pid}", { id, pid, body: { decision: "allow" } }),
    (pid: string) => call("POST /tool/approve", { body: { session_id: id, permission_id: pid, approved: true } }),
  ]) {
    for await (const { type, metadata } of await session.prompt("go")) {
      if (type === "question_asked") {
        const reply = { id, qid: metadata.question_id, body: { answer: "hi" } };
        expect(await call("POST /sessions/{id}/questions/{qid}", reply)).toEqual({ answered: true });
      }
      if (type === "permission_request") expect(await answer(metadata.permission_id)).toMatchObject({ resolved: true });
      if (type === "agent_result") expect(metadata.success).toBe(true);
    }
  }
  const { snapshots } = await call("GET /sessions/{id}/snapshots", { id });
  const { snap_id: snap = "" } = snapshots.find(({ files }) => files.length > 0) ?? {};
  const { files } = await call("GET /sessions/{id}/snapshots/{snap}/diff", { id, snap });
  expect(files[0]?.diff).toContain("+hi");
  return [
    "POST /sessions/{id}/permissions/{pid}",
    "POST /tool/approve",
    "POST /sessions/{id}/questions/{qid}",
    "GET /sessions/{id}/snapshots/{snap}/diff",
  ];
}

test("a request ends after its time, or when its caller leaves, also where memory is collected meanwhile", {
  timeout: 60_000,
}, async () => {
  let isSilent = false;
  const server = createHttpServer((_, response) => {
    if (!isSilent) response.setHeader("content-type", "application/json").end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  onTestFinished(() => void server.closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const client = createClient({ url, retries: 0, timeoutMs: 5_000 });
  const caller = new AbortController();
  const { signal } = caller;
  // A function that has run often is recompiled, and then holds no value that it no longer uses.
  for (let n = 0; n < 1500; n++) await client.call("GET /ping", {}, { signal });
  isSilent = true;
  setFlagsFromString("--expose-gc");
  const collecting = setInterval(runInNewContext("gc") as () => void, 50);
  onTestFinished(() => clearInterval(collecting));
  await expect(client.call("GET /ping", {}, { signal })).rejects.toMatchObject({ code: "timeout" });
  const left = client.call("GET /ping", {}, { signal });
  caller.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  await expect(client.call("GET /ping", {}, { signal })).rejects.toThrow("left");
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test(`a follower has every record once, though the server is killed ${KILLS} times in mid turn`, {
  timeout: 600_000,
}, async () => {
  const home = scratchTree({});
  const cwd = scratchTree({});
  const model = speech(400, 2);
  const port = await freePort();
  const start = async () => {
    const program = startProgram("otter", ["serve", "--port", String(port), "--model", model], {}, { home, cwd });
    await addressOf(program);
    return program;
  };
  const client = createClient({ url: `http://127.0.0.1:${port}`, retries: 50 });
  let program = await start();
  const followed: { id: string; records: SessionRecord[] }[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const session = await client.sessions.start("go");
    const records: SessionRecord[] = [];
    followed.push({ id: session.id, records });
    let isUnderWay = () => {};
    const underWay = new Promise<void>((resolve) => {
      isUnderWay = resolve;
    });
    const atMost = 5 + Math.floor(Math.random() * 60);
    const reading = (async () => {
      for await (const record of session.follow()) if (records.push(record) > atMost) isUnderWay();
    })();
    await Promise.race([underWay, reading]);
    program.child.kill("SIGKILL");
    await program.exited;
    program = await start();
    await reading;
    expect(records.at(-1)?.type).toMatch(/^(agent_result|cancelled)$/);
  }
  for (const { id, records } of followed) {
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, at) => at + 1));
    const stored: SessionRecord[] = [];
    for await (const record of client.sessions.open(id).follow()) stored.push(record);
    expect(records).toEqual(stored);
  }
});

test(`a follower has every record once through ${CUTS} random cuts`, { timeout: 300_000 }, async () => {
  const url = await addressOf(startProgram("otter", ["serve", "--port", "0", "--model", speech(2000, 1)]));
  let cuts = 0;
  const proxy = createServer((client) => {
    const server = connect(Number(new URL(url).port), "127.0.0.1");
    let left = Math.floor(Math.random() ** 2 * 6000) + 1;
    const end = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server] as Socket[]) socket.on("error", end).on("close", end);
    client.pipe(server);
    server.on("data", (chunk) => {
      const isCut = cuts < CUTS && chunk.length >= left;
      client.write(isCut ? chunk.subarray(0, left) : chunk);
      left -= chunk.length;
      if (!isCut) return;
      cuts++;
      // Written data is still sent, and nothing after it.
      client.end();
      server.destroy();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  const { port } = proxy.address() as { port: number };
  const session = await createClient({ url }).sessions.start("go");
  const cutClient = createClient({ url: `http://127.0.0.1:${port}`, retries: 1000 });
  const recordsBy = async (client: Client) => {
    const records: SessionRecord[] = [];
    for await (const record of client.sessions.open(session.id).follow()) records.push(record);
    return JSON.stringify(records);
  };
  // Once the first pass is over, the log is whole.
  let stored: Promise<string> | undefined;
  let passes = 0;
  const follower = async () => {
    do {
      const passed = await recordsBy(cutClient);
      stored ??= recordsBy(createClient({ url }));
      expect(passed).toBe(await stored);
      passes++;
    } while (cuts < CUTS);
  };
  await Promise.all(Array.from({ length: 20 }, follower));
  expect(cuts).toBe(CUTS);
  expect(passes).toBeGreaterThanOrEqual(20);
});

test("a signal that outlives many retries is left without listeners", async () => {
  let refused = 0;
  const server = createHttpServer((_, response) => {
    const isBusy = ++refused <= 12;
    response.writeHead(isBusy ? 503 : 200, { "content-type": "application/json", "retry-after": "0" });
    response.end(isBusy ? JSON.stringify({ error: { code: "overloaded", message: "later" } }) : "{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const { signal } = new AbortController();
  await createClient({ url: `http://127.0.0.1:${port}` }).call("GET /ping", {}, { signal, retries: 20 });
  expect(refused).toBe(13);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("a prompt whose answer was lost is one turn, and one session", async () => {
  const url = await addressOf(startProgram("otter", ["serve", "--port", "0", "--model", speech(3, 0)]));
  let lost = 0;
  const lossy: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method !== "POST" || lost++ % 2 === 1) return response;
    await response.text();
    throw new TypeError("the connection broke");
  };
  const client = createClient({ url, fetch: lossy });
  const session = await client.sessions.start("go");
  const turn = await session.prompt("once more");
  expect(turn.number).toBe(1);
  expect((await turn.result()).success).toBe(true);
  const rows = [];
  for await (const row of client.sessions.list({ limit: "1" })) rows.push(row.session_id);
  expect(rows).toEqual([session.id]);
  expect(lost).toBe(4);
});

test("a turn is read as text, answers what it asks, and is undone; many sessions are watched at once", async () => {
  const model = `scripted:${script([
    {
      steps: [
        { reply: [{ call: "Write", args: { path: "a.txt", content: "hi" } }] },
        { reply: [{ text: "done", chunks: 2 }] },
      ],
    },
  ])}`;
  const client = await serve(["--model", model]);
  const session = await client.sessions.create();
  const watching = (async () => {
    const seen = new Set<string>();
    for await (const event of client.watch({ sessions: { [session.id]: 0 }, list: true })) {
      seen.add(event.type === "row" ? `row ${event.row?.status}` : event.record.type);
      if (event.type === "record" && event.record.type === "agent_result") return seen;
    }
    return seen;
  })();
  const turn = (await session.prompt("write")).onPermission(({ tool }) => (tool === "Write" ? "allow" : "deny"));
  let text = "";
  for await (const piece of turn.text()) text += piece;
  expect(text).toBe("done");
  const seen = await watching;
  expect([...seen]).toEqual(expect.arrayContaining(["permission_request", "permission_resolved", "row waiting"]));
  expect((await session.changes({ diff: "true" })).turns[0]?.files[0]?.diff).toContain("+hi");
  expect((await session.undo()).turns).toBe(1);
  expect(await session.redo()).toMatchObject({ turns: 1 });
  expect((await session.undo()).turns).toBe(1);
  await expect(session.undo()).resolves.toMatchObject({ turns: 0 });
  await expect(client.sessions.open("nobody").settings()).rejects.toMatchObject({
    code: "session_not_found",
    status: 404,
  });
});

test("an answered question is not asked again, however often and late its turn is read", async () => {
  const reply = [{ call: "Write", args: { path: "a.txt", content: "hi" } }];
  const client = await serve([
    "--model",
    `scripted:${script([{ steps: [{ reply }, { reply: [{ text: "done" }] }] }])}`,
  ]);
  const session = await client.sessions.start("write");
  const asked: string[] = [];
  const decide = ({ tool }: { tool: string }) => {
    asked.push(tool);
    return "allow" as const;
  };
  const turn = session.turn(0).onPermission(decide);
  let text = "";
  for await (const piece of turn.text()) text += piece;
  expect([text, (await turn.result()).success, asked]).toEqual(["done", true, ["Write"]]);
  expect((await client.sessions.open(session.id).turn(0).onPermission(decide).result()).success).toBe(true);
  expect(asked).toEqual(["Write"]);
});

test("a question of the agent is answered while its turn is read, once", async () => {
  const ask = { call: "ask", args: { question: "Which database?", options: ["PostgreSQL"] } };
  const steps = [{ reply: [ask] }, { reply: [{ text: "so be it" }] }];
  const client = await serve(["--model", `scripted:${script([{ steps }])}`]);
  const session = await client.sessions.start("choose");
  const asked: string[] = [];
  const turn = session.turn(0).onQuestion(({ question, options }) => {
    asked.push(question);
    return options[0]?.name ?? null;
  });
  expect(await turn.result()).toMatchObject({ success: true, output: "so be it" });
  expect((await turn.result()).success).toBe(true);
  expect(asked).toEqual(["Which database?"]);
  const answers = [];
  for await (const { type, metadata } of turn) if (type === "question_answered") answers.push(metadata.answer);
  expect(answers).toEqual(["PostgreSQL"]);
});

test("a turn is streamed from its prompt on, over a broken stream too, and from a session that is not in memory", async () => {
  const args = ["serve", "--port", "0", "--model", speech(200, 0)];
  const home = scratchTree({});
  const first = startProgram("otter", args, {}, { home });
  let streamed = "";
  let cuts = 1;
  const counting: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!String(input).includes("/events?")) return response;
    const cut = cuts-- > 0 ? 3000 : Number.POSITIVE_INFINITY;
    let sent = 0;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const part = chunk.subarray(0, cut - sent);
        sent += part.length;
        streamed += new TextDecoder().decode(part);
        controller.enqueue(part);
        if (sent >= cut) controller.terminate();
      },
    });
    return new Response(response.body!.pipeThrough(counter), response);
  };
  const session = await createClient({ url: await addressOf(first), fetch: counting }).sessions.create();
  const prompts = ["one", "two", "three"];
  const expectOnly = (number: number) => {
    expect(cuts).toBeLessThan(0);
    for (const [at, text] of prompts.entries())
      if (at <= number) expect([text, streamed.includes(`"text":"${text}"`)]).toEqual([text, at === number]);
    [streamed, cuts] = ["", 1];
  };
  for (const [number, prompt] of prompts.entries()) {
    expect((await (await session.prompt(prompt)).result()).success).toBe(true);
    expectOnly(number);
  }
  first.child.kill("SIGTERM");
  await first.exited;
  const url = await addressOf(startProgram("otter", args, {}, { home }));
  const stored = createClient({ url, fetch: counting }).sessions.open(session.id);
  for (const number of [2, 0, 1]) {
    const turns = new Set<number | null>();
    for await (const { turn } of stored.turn(number)) turns.add(turn);
    expect([...turns]).toEqual([number]);
    expectOnly(number);
  }
});

test("a run is waited for however long it takes", async () => {
  const url = await addressOf(startProgram("otter", ["serve", "--port", "0", "--model", speech(40, 50)]));
  const client = createClient({ url, timeoutMs: 1000, retries: 0 });
  const input = [{ role: "user", parts: [{ content: "go" }] }];
  const began = performance.now();
  const run = await client.runs.start({ agent_name: "otter", input });
  expect(performance.now() - began).toBeGreaterThan(1000);
  expect(run).toMatchObject({ status: "completed", output: [{ parts: [{ content: "word ".repeat(40) }] }] });
  const rows = [];
  for await (const row of client.runs.list({ limit: "1" })) rows.push(row);
  expect(rows).toMatchObject([{ run_id: run.run_id }]);
  expect(await client.runs.cost()).toMatchObject({ total_runs: 1 });
  const begun = await client.runs.start({ agent_name: "otter", mode: "async", input });
  expect(begun.status).toMatch(/created|in-progress/);
  const stop = new AbortController();
  const waiting = client.runs.start({ agent_name: "otter", input }, { signal: stop.signal });
  setTimeout(() => stop.abort(new Error("enough")), 300);
  await expect(waiting).rejects.toThrow("enough");
});

test("startServer runs a server of one's own", async () => {
  const cwd = scratchTree({ "README.md": "# Here\n" });
  const home = scratchTree({});
  const server = await startServer({
    command: process.execPath,
    script: [join(repositoryRoot, "apps/otter/dist/cli.js")],
    cwd,
    env: { PATH: process.env["PATH"], HOME: cwd, CHIMERA_HOME: home },
  });
  expect((await server.client.health()).status).toBe("ok");
  await expect(createClient({ url: server.url, retries: 0 }).call("GET /info", {})).rejects.toMatchObject({
    status: 401,
  });
  const session = await server.client.sessions.start("list files");
  expect((await session.turn(0).result()).output).toContain("README.md");
  await server.close();
  await expect(createClient({ url: server.url, retries: 0 }).health()).rejects.toMatchObject({ code: "unreachable" });
});
