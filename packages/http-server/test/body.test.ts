import { connect } from "node:net";
import { text as readText } from "node:stream/consumers";
import { StoreError } from "@chimera/event-store";
import { SnapshotError } from "@chimera/snapshot-store";
import { expect, test } from "vitest";
import { LIMITS } from "../src/index.js";
import { eventually, MASTER, newSession, runTurn, type Served, sendRaw, serve } from "./fixture.js";
import { expectError } from "./shape.js";

const HEAD = `POST /session HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${MASTER}\r\nContent-Type: application/json\r\n`;

test.each([
  ["nothing of JSON", "{", "invalid_json"],
  ["two values", "{}{}", "invalid_json"],
  ["a list", "[]", "expected_json_object"],
  ["null", "null", "expected_json_object"],
  ["a number", "7", "expected_json_object"],
  ["deep nesting", `{"a":${"[".repeat(70)}${"]".repeat(70)}}`, "invalid_json"],
  ["very deep nesting", `{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`, "invalid_json"],
])("a body that is %s is refused with a reason", async (_, body, code) => {
  const served = await serve();
  const { status, text } = await sendRaw(
    served.port,
    `${HEAD}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  expect([status, text]).toEqual([400, expect.stringContaining(`"${code}"`)]);
});

test.each([
  ["is not UTF-8", Buffer.from('{"a":"\xff"}', "latin1"), "", 400, "invalid_json"],
  ["breaks off inside a character", Buffer.from('{"a":"\xe2\x82', "latin1"), "", 400, "invalid_json"],
  ["holds half of a pair as UTF-8", Buffer.from('{"a":"\xed\xa0\x80"}', "latin1"), "", 400, "invalid_json"],
  ["is UTF-16", Buffer.from("{}", "utf16le"), "", 400, "invalid_json"],
  [
    "is packed",
    Buffer.from("H4sIAAAAAAAAA6uuBQBDv6ajAgAAAA==", "base64"),
    "Content-Encoding: gzip\r\n",
    415,
    "json_required",
  ],
])("a body that %s is refused, and not read as something else", async (_, body, header, expected, code) => {
  const served = await serve();
  const whole = `Content-Length: ${body.length}\r\n\r\n${body.toString("latin1")}`;
  const chunks = `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body.toString("latin1")}\r\n0\r\n\r\n`;
  for (const rest of [whole, chunks]) {
    const bytes = Buffer.from(`${HEAD}${header}Connection: close\r\n${rest}`, "latin1");
    const { status, text } = await sendRaw(served.port, bytes);
    expect([status, text]).toEqual([expected, expect.stringContaining(`"${code}"`)]);
  }
  expect(served.sessions.live()).toHaveLength(0);
});

test("a body without a type is refused, also over HTTP/2 where no header announces it", async () => {
  const { app } = await serve();
  const headers = { host: "localhost", authorization: `Bearer ${MASTER}` };
  const send = async (body: Blob | null) =>
    (await app.request("http://localhost/session", { method: "POST", headers, body })).status;
  expect([await send(new Blob(["{}"])), await send(new Blob([])), await send(null)]).toEqual([415, 201, 201]);
});

test("names such as __proto__ have no special meaning in a body", async () => {
  const served = await serve();
  const body = '{"__proto__":{"working_dir":"/etc"},"constructor":{"prototype":{"x":1}}}';
  const { text } = await sendRaw(
    served.port,
    `${HEAD}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  expect(text).toContain(JSON.stringify(served.cwd));
  expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
});

test("a body over the limit is refused before it is read, declared or not", async () => {
  const served = await serve();
  const declared = await sendRaw(served.port, `${HEAD}Content-Length: ${LIMITS.bodyBytes + 1}\r\n\r\n{`);
  expect(declared.status).toBe(413);
  const chunk = "x".repeat(64 * 1024);
  const chunks = `${chunk.length.toString(16)}\r\n${chunk}\r\n`.repeat(LIMITS.bodyBytes / chunk.length + 1);
  const streamed = await sendRaw(served.port, `${HEAD}Transfer-Encoding: chunked\r\n\r\n${chunks}`);
  expect(streamed.status).toBe(413);
});

test("a body with too many values is refused before it is parsed; commas in texts do not count", async () => {
  const served = await serve();
  const send = (body: string) =>
    sendRaw(served.port, `${HEAD}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  const many = await send(`{"a":[${"0,".repeat(LIMITS.bodyValues)}0]}`);
  expect([many.status, many.text]).toEqual([413, expect.stringContaining('"body_too_large"')]);
  const text = JSON.stringify({ a: `${',"\\'.repeat(LIMITS.bodyValues)}` });
  expect((await send(text)).status).toBe(201);
});

test.each([
  ["/sessions", {}, "missing_prompt"],
  ["/sessions", { prompt: "" }, "missing_prompt"],
  ["/sessions", { prompt: " \n" }, "missing_prompt"],
  ["/sessions", { prompt: "", content: [{ type: "text", text: " " }] }, "missing_prompt"],
  ["/sessions", { prompt: 7 }, "missing_prompt"],
  ["/sessions", { prompt: "x", max_steps: 0 }, "invalid_body"],
  ["/sessions", { prompt: "x", allowed_tools: "Bash" }, "invalid_body"],
  ["/sessions", { prompt: "x", persist: "no" }, "invalid_body"],
  ["/sessions/{id}/turns", {}, "missing_prompt"],
  ["/session/{id}/message", {}, "missing_text"],
  ["/sessions/{id}/turns", { prompt: " " }, "missing_prompt"],
  ["/sessions/{id}/turns", { prompt: "x", content: [image("%%%")] }, "invalid_body"],
  ["/sessions/{id}/turns", { prompt: "x", content: [file("{}")] }, "invalid_body"],
  ["/session/{id}/message", { text: "" }, "missing_text"],
  ["/session/{id}/message", { text: "\t" }, "missing_text"],
  ["/tool/approve", { approved: true }, "missing_session_id_or_permission_id"],
  ["/sessions/{id}/permissions/p", { decision: "maybe" }, "invalid_decision"],
  ["/sessions/{id}/undo", { steps: 0 }, "invalid_body"],
  ["/sessions/{id}/undo", { steps: 1.5 }, "invalid_body"],
  ["/sessions/{id}/fork", { turn: -1 }, "invalid_body"],
  ["/runs", { input: [] }, "missing_agent_name"],
  ["/runs", { agent_name: "otter", input: [] }, "invalid_input"],
  ["/runs", { agent_name: "otter", input: [{ role: "user", parts: [] }] }, "missing_prompt"],
])("POST %s %j is answered with 400 %s", async (path, body, code) => {
  const served = await serve();
  const { id } = await newSession(served);
  expectError(await served.call("POST", path.replace("{id}", id), { body }), 400, code);
  expect(served.sessions.find(id)?.lastSeq).toBe(0);
});

test("a refusal names the missing or malformed field", async () => {
  const served = await serve({ sharesDirectory: "/tmp" });
  const { id } = await newSession(served);
  const said = async (path: string, body: object) => (await served.call("POST", path, { body })).body.message;
  expect(await said("/sessions", {})).toBe("prompt is missing");
  expect(await said("/runs", { agent_name: "otter", input: [{ role: "user" }] })).toBe("input.0.parts is missing");
  const share = { sink: "file", path: "/tmp/mine" };
  expect(await said(`/sessions/${id}/share`, share)).toBe("path: the server names the file itself: leave it out");
});

test("a prompt may be blank beside a picture", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  const body = { prompt: " ", content: [image("aGk=")] };
  expect((await served.call("POST", `/sessions/${id}/turns`, { body })).status).toBe(202);
  const [asked] = (await served.call("GET", `/sessions/${id}`)).body.events;
  expect(asked.metadata).toMatchObject({ text: "", content: [{ type: "image", data: "aGk=" }] });
});

test("null counts as absent for an optional field, and as null for a nullable one", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  const none = await served.call("POST", `/sessions/${id}/questions/none`, { body: { answer: null } });
  expectError(none, 404, "question_not_found");
  expectError(await served.call("POST", `/sessions/${id}/questions/none`, { body: {} }), 400, "invalid_body");
  expectError(await served.call("POST", "/sessions", { body: { prompt: null } }), 400, "missing_prompt");
  const { status } = await served.call("POST", "/session", { body: { working_dir: null, model: null } });
  expect(status).toBe(201);
});

test("a session with too many waiting prompts refuses the next one", async () => {
  const served = await serve();
  const { id } = await newSession(served);
  let last = 0;
  for (let i = 0; i < 70 && last !== 429; i++) {
    last = (await served.call("POST", `/sessions/${id}/turns`, { body: { prompt: "wait" } })).status;
  }
  expect(last).toBe(429);
});

test("an internal failure gives the caller only an id, and the log has the rest", async () => {
  const served = await serve({
    tools: () => {
      throw new Error("secret detail");
    },
  });
  const answer = await served.call("GET", "/tools");
  expectError(answer, 500, "internal_error");
  expect(answer.text).not.toContain("secret detail");
  expect(served.logged.join()).toContain("secret detail");
  expect(served.logged.join()).toContain(answer.body.request_id);
});

test.each([
  ["storage_full", 507, "storage_full", /free some/],
  ["read_only", 507, "storage_read_only", /make it writable/],
  ["io", 503, "storage_failed", /^the disk failed.*try again/],
  ["database", 503, "storage_failed", /^the words of the store$/],
  ["fenced", 409, "session_claimed", /is open in otter, process 7 on there/],
  ["damaged", 409, "session_damaged", /its log is gone/],
] as const)(
  "a store failure %s is answered %i %s, with advice and without file names",
  async (code, status, error, says) => {
    const holder = { program: "otter", pid: 7, host: "there", instance: "x", start: null, boot: null, pidns: null };
    const own: Partial<Record<string, string>> = { damaged: "its log is gone", database: "the words of the store" };
    const failure = new StoreError(code, own[code] ?? "/a/secret/path", { holder });
    const served = await serve({
      broken: ({ store, snapshots }) => ({
        store: { ...store, list: () => Promise.reject(failure) },
        snapshots: {
          ...snapshots,
          session: (...given) => ({
            ...snapshots.session(...given),
            restore: () => Promise.reject(new SnapshotError("read_only", "/a/secret/path")),
          }),
        },
      }),
    });
    const { id } = await served.sessions.create({ cwd: served.cwd });
    await runTurn(served, id, "say a");
    const answer = await served.call("GET", "/sessions", { isUnlisted: true });
    expectError(answer, status, error);
    expect(answer.body.message).toMatch(says);
    expect(answer.text).not.toContain("secret");
    if (status === 503) expect(answer.headers.get("retry-after")).toBe("1");
    if (code === "fenced") expect(answer.body.holder).toEqual({ program: "otter", pid: 7, host: "there" });
    expectError(await served.call("POST", `/sessions/${id}/undo`, { body: {} }), 507, "storage_read_only");
  },
);

test("a peer that leaves in the middle of its body is not a failure of the server", async () => {
  const served = await serve();
  for (const rest of ['Content-Length: 100\r\n\r\n{"a":', 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n']) {
    await sendRaw(served.port, HEAD + rest, 200);
  }
  await eventually(async () => (await served.connections()) === 0);
  await served.call("GET", "/health");
  expect(served.logged).toEqual([]);
});

/** Gives a session a title over the bare wire. */
async function titling(served: Served) {
  const { id } = await newSession(served);
  const head = (bytes: number, more = "") =>
    `${HEAD.replace("/session", `/sessions/${id}/title`)}${more}Content-Length: ${bytes}\r\n\r\n`;
  const body = (title: string) => JSON.stringify({ title });
  return {
    head,
    body,
    request: (title: string, more = "") => head(Buffer.byteLength(body(title)), more) + body(title),
  };
}

/** Writes pieces, each in a segment of its own, and reads until the server closes. */
async function inPieces(port: number, ...pieces: readonly (string | Buffer)[]): Promise<string> {
  const socket = connect(port, "127.0.0.1").setNoDelay();
  const answers = readText(socket);
  for (const piece of pieces) {
    socket.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
  return answers;
}

const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
const titles = (text: string) => [...text.matchAll(/"title":"(.*?)"/g)].map(([, title]) => title);
const CLOSE = "Connection: close\r\n";

test("a body is read the same whether it comes with its headers, in two pieces or byte by byte", async () => {
  const served = await serve();
  const { request } = await titling(served);
  const whole = Buffer.from(request("für dich", CLOSE));
  const start = whole.indexOf("\r\n\r\n") + 4;
  const cuts = [start - 2, start, start + 1, whole.indexOf("ü") + 1, whole.length - 1];
  const ways = [[whole], ...cuts.map((at) => [whole.subarray(0, at), whole.subarray(at)])];
  ways.push([whole.subarray(0, start), ...[...whole.subarray(start)].map((byte) => Buffer.of(byte))]);
  for (const pieces of ways) {
    const text = await inPieces(served.port, ...pieces);
    expect([statuses(text), titles(text)]).toEqual([[200], ["für dich"]]);
  }
});

test("pipelined requests keep their own bodies, also if a segment ends inside one", async () => {
  const served = await serve();
  const { head } = await titling(served);
  const names = Array.from({ length: 30 }, (_, at) => `name-${"a".repeat(at)}${at}`);
  const request = (name: string, at: number) => {
    const body = JSON.stringify({ title: "ä".repeat(at), [name]: 1 });
    return head(Buffer.byteLength(body), at === 29 ? CLOSE : "") + body;
  };
  const all = Buffer.from(names.map(request).join(""));
  for (const at of [all.length, 700, 1111, all.length - 3]) {
    const text = await inPieces(served.port, all.subarray(0, at), all.subarray(at));
    expect(statuses(text)).toEqual(names.map(() => 200));
    expect([...text.matchAll(/name-a*\d+/g)].map(String).filter((name, n, all) => name !== all[n - 1])).toEqual(names);
  }
});

test("bytes after the declared length are the next request, and missing bytes are waited for", async () => {
  const served = await serve();
  const { head, body, request } = await titling(served);
  const short = await inPieces(served.port, head(body("a").length), body("a"), request("b", CLOSE));
  expect([statuses(short), titles(short)]).toEqual([
    [200, 200],
    ["a", "b"],
  ]);
  for (const less of [0, 1]) {
    const cut = await inPieces(served.port, `${head(body("a").length - less)}${body("a")}more\r\n\r\n`);
    expect(statuses(cut).at(-1)).toBe(400);
  }
  const long = await inPieces(served.port, `${head(body("b").length + 2, CLOSE)}${body("b")}`, " ", " ");
  expect([statuses(long), titles(long)]).toEqual([[200], ["b"]]);
  const two = request("c").replace("Content-Length", "Content-Length: 1\r\nContent-Length");
  expect(statuses(await inPieces(served.port, two))).toEqual([400]);
});

test("a client that expects 100-continue gets it once", async () => {
  const served = await serve();
  const { head, body, request } = await titling(served);
  const expecting = `Expect: 100-continue\r\n${CLOSE}`;
  const waited = await inPieces(served.port, head(body("a").length, expecting), body("a"));
  expect([statuses(waited), titles(waited)]).toEqual([[100, 200], ["a"]]);
  const hurried = await inPieces(served.port, request("b", expecting));
  expect([statuses(hurried).at(-1), titles(hurried)]).toEqual([200, ["b"]]);
});

test("a client that closes its half after its request counts as gone, and nothing stays open", async () => {
  const served = await serve();
  const { request } = await titling(served);
  for (const part of [request("a"), request("a").slice(0, -3)]) {
    const socket = connect(served.port, "127.0.0.1");
    socket.end(part);
    expect(statuses(await readText(socket))).not.toContain(500);
  }
  await eventually(async () => (await served.connections()) <= 1);
  expect((await served.call("GET", "/health")).status).toBe(200);
  expect(served.logged).toEqual([]);
});

function image(data: string) {
  return { type: "image", mimeType: "image/png", data };
}

function file(blob: string) {
  return { type: "resource", resource: { uri: "file:///a.bin", blob } };
}
