// The promise of an `Idempotency-Key`: a request is done once, however often and to whichever process it is sent.
import { createHash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Peers } from "../src/deps.js";
import { type Answer, eventually, newSession, runTurn, type Served, scratch, serve } from "./fixture.js";
import { expectError } from "./shape.js";

const post = (served: Served, path: string, prompt: string, key: string) =>
  served.call("POST", path, { body: { prompt }, headers: { "idempotency-key": key } });

test("makes one turn of a prompt, however often it is sent, also after a restart", async () => {
  const root = scratch();
  const before = await serve({ root });
  const { id } = await newSession(before);
  const path = `/sessions/${id}/turns`;
  const [first, second] = [await post(before, path, "say a", "k1"), await post(before, path, "say a", "k1")];
  expect([first.status, second.status, second.body.message_id]).toEqual([202, 202, first.body.message_id]);
  expectError(await post(before, path, "say b", "k1"), 422, "key_reused");
  expect((await post(before, path, "say a", "k2")).body.message_id).toBe("msg-1");
  await before.sessions.find(id)!.idle();
  await before.stop();
  const after = await serve({ root });
  expect((await post(after, path, "say a", "k1")).body.message_id).toBe("msg-0");
  expect((await after.call("GET", `/sessions/${id}`)).body.summary.turns).toBe(2);
  for (const key of ["x".repeat(256), "a b"]) expectError(await post(after, path, "say a", key), 400, "invalid_key");
});

test("makes one session, for concurrent and later requests and after a restart", async () => {
  const root = scratch();
  const before = await serve({ root });
  const answers = await Promise.all([1, 2, 3].map(() => post(before, "/sessions", "say a", "k1")));
  const ids = new Set(answers.map(({ body }) => body.session_id));
  expect([answers.map(({ status }) => status), ids.size]).toEqual([[201, 201, 201], 1]);
  const [id] = ids;
  expectError(await post(before, "/sessions", "say b", "k1"), 422, "key_reused");
  await before.sessions.find(id)!.idle();
  await before.stop();
  const after = await serve({ root });
  const again = await post(after, "/sessions", "say a", "k1");
  expect(again.body.session_id).toBe(id);
  const own = await after.call("GET", `/sessions/${id}`, { token: again.body.session_token });
  expect([own.status, own.body.summary.turns]).toEqual([200, 1]);
});

test("makes a session after a failed first attempt, once the disk can be read again", {
  tags: ["needs-files"],
}, async () => {
  const root = scratch();
  writeFileSync(join(root, "eventlog"), "not a directory");
  const served = await serve({ root });
  expect((await post(served, "/sessions", "say a", "k1")).status).toBeGreaterThanOrEqual(500);
  rmSync(join(root, "eventlog"));
  expect((await post(served, "/sessions", "say a", "k1")).status).toBe(201);
});

const send = (served: Served, method: string, path: string, body: object, key = "k1"): Promise<Answer> =>
  served.call(method, path, { body, headers: { "idempotency-key": key } });

test("a different request with the key of a session is refused, also after a restart", async () => {
  const root = scratch();
  const before = await serve({ root });
  const picture = (data: string) => [{ type: "image", data, mimeType: "image/png" }];
  const asked = { prompt: "say a", content: picture("aGk="), cwd: before.cwd, model: "m-1" };
  const others = [
    { ...asked, content: picture("aGkh") },
    { prompt: asked.prompt, cwd: asked.cwd, model: asked.model },
    { ...asked, cwd: scratch() },
    { ...asked, model: "m-2" },
    { ...asked, mode: "auto" },
    { ...asked, persist: false },
  ];
  const first = await send(before, "POST", "/sessions", asked);
  expect(first.status).toBe(201);
  for (const other of others) expectError(await send(before, "POST", "/sessions", other), 422, "key_reused");
  expectError(await send(before, "POST", "/session", {}), 422, "key_reused");
  await before.stop();
  const after = await serve({ root });
  for (const other of others) expectError(await send(after, "POST", "/sessions", other), 422, "key_reused");
  expect((await send(after, "POST", "/sessions", asked)).body.session_id).toBe(first.body.session_id);
  expect(after.sessions.live()).toHaveLength(1);
});

test("a fork, a session without a prompt, a command and a run are made once", async () => {
  const root = scratch();
  const cwd = scratch();
  mkdirSync(join(cwd, ".opencode", "command"), { recursive: true });
  writeFileSync(
    join(cwd, ".opencode", "command", "greet.md"),
    "---\ndescription: Greet\nargs:\n  - name: whom\n    description: whom\n---\nsay hello $1\n",
  );
  const before = await serve({ root, defaultCwd: cwd });
  const { id } = await newSession(before);
  await runTurn(before, id, "say a");
  await runTurn(before, id, "say b");
  const run = { agent_name: "otter", input: [{ role: "user", parts: [{ content: "say c" }] }] };
  const requests: [path: string, body: object, idOf: string][] = [
    [`/sessions/${id}/fork`, {}, "session_id"],
    ["/session", {}, "session_id"],
    ["/commands/greet/invoke", { session_id: id, args: ["you"] }, "message_id"],
    ["/runs", run, "run_id"],
  ];
  const all = async (served: Served) => {
    const answers: string[] = [];
    for (const [at, [path, body, name]] of requests.entries()) {
      const answer = await send(served, "POST", path, body, `key-${at}`);
      expect([path, answer.body]).toEqual([path, expect.objectContaining({ [name]: expect.any(String) })]);
      answers.push(answer.body[name]);
    }
    return answers;
  };
  const first = await all(before);
  expect(await all(before)).toEqual(first);
  expectError(await send(before, "POST", `/sessions/${id}/fork`, { turn: 0 }, "key-0"), 422, "key_reused");
  const other = await send(before, "POST", `/sessions/${id}/fork`, {}, "key-9");
  expect(other.body.session_id).not.toBe(first[0]);
  await before.sessions.find(id)!.idle();
  await before.stop();
  const after = await serve({ root, defaultCwd: cwd });
  expect(await all(after)).toEqual(first);
  expect((await after.call("GET", `/sessions/${id}`)).body.summary.turns).toBe(3);
});

test("a key may make a new session after its session was deleted", async () => {
  const served = await serve();
  const { body } = await send(served, "POST", "/sessions", { prompt: "say a" });
  await served.call("DELETE", `/sessions/${body.session_id}`);
  const again = await send(served, "POST", "/sessions", { prompt: "say a" });
  expect(again.status).toBe(201);
  expect(again.body.session_id).not.toBe(body.session_id);
  expect((await send(served, "POST", "/sessions", { prompt: "say a" })).body.session_id).toBe(again.body.session_id);
});

test("if the maker of a session died before its prompt, the repeated request sends the prompt", async () => {
  const root = scratch();
  const asked = { prompt: "say a", options: { read_only: true } };
  const digest = createHash("sha256")
    .update(JSON.stringify(["POST", "/sessions", asked]))
    .digest("base64url");
  const before = await serve({ root });
  const { id } = await before.sessions.create({ cwd: before.cwd, request: { key: "k1", digest } });
  await before.stop();
  const after = await serve({ root });
  expect((await send(after, "POST", "/sessions", asked)).body.session_id).toBe(id);
  expect((await send(after, "POST", "/sessions", asked)).body.session_id).toBe(id);
  const session = after.sessions.find(id)!;
  await eventually(() => session.state === "idle");
  expect([session.conversation.turns.length, session.settings.readOnly]).toEqual([1, true]);
});

test("each node of a shared store finds the session that another node made, and forwards to that node", async () => {
  const root = scratch();
  const nodes: Parameters<Peers["serve"]>[0][] = [];
  const node = async () => {
    const own = nodes.length;
    const peers: Peers = {
      ask: async (_, request) =>
        JSON.stringify({ value: await nodes[1 - own]!(JSON.parse(request).call.args[0].value) }),
      serve: async (handle) => void nodes.push(handle),
      isElsewhere: async () => false,
      held: async () => new Set(),
      tokens: { read: async () => null, write: async () => {}, remove: async () => {}, onVoid() {} },
    };
    return serve({ root, peers });
  };
  const [one, other] = [await node(), await node()];
  // Each has looked before the other one makes anything.
  for (const served of [one, other]) expect((await send(served, "POST", "/session", {}, "first")).status).toBe(201);
  const made = await send(one, "POST", "/sessions", { prompt: "say a" });
  const again = await send(other, "POST", "/sessions", { prompt: "say a" });
  expect([again.status, again.body.session_id]).toEqual([201, made.body.session_id]);
  expectError(await send(other, "POST", "/sessions", { prompt: "say b" }), 422, "key_reused");
  expect([one.sessions.live().length, other.sessions.live().length]).toEqual([2, 0]);
});
