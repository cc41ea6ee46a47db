// Two servers over one directory of sessions, each asking the other for what it holds.
import { createCallAnswerer } from "@chimera/session/anywhere";
import { expect, test } from "vitest";
import type { AppDeps } from "../src/index.js";
import { newSession, runTurn, type Served, scratch, serve } from "./fixture.js";
import { expectError } from "./shape.js";

type Peers = NonNullable<AppDeps["peers"]>;
type Answering = Parameters<Peers["serve"]>[0];

/** @param moved what the first calls are answered with, in the place of their answers. */
async function serveTwo(promptsPerMinute: number, moved: (string | null)[] = []): Promise<[Served, Served]> {
  const root = scratch();
  const served: Served[] = [];
  const answering: Answering[] = [];
  const peersOf = (at: number): Peers => ({
    ask: async (_id, request) => {
      const first = moved.shift();
      if (first !== undefined) return first;
      return createCallAnswerer(served[1 - at]!.sessions, { http: answering[1 - at]! })(JSON.parse(request).call);
    },
    serve: async (handle) => {
      answering[at] = handle;
    },
    isElsewhere: async (id) => served[1 - at]!.sessions.find(id) !== undefined,
    held: async () => new Set(served.flatMap(({ sessions }) => sessions.live().map(({ id }) => id))),
    tokens: { read: async () => null, write: async () => {}, remove: async () => {}, onVoid: () => {} },
  });
  const quotas = { all: { promptsPerMinute } };
  for (const at of [0, 1]) served.push(await serve({ root, peers: peersOf(at), quotas }));
  return served as [Served, Served];
}

test("a refusal of the other server is passed on with the same request id and Retry-After", async () => {
  const [here, there] = await serveTwo(1);
  const { id } = await newSession(there);
  await runTurn(there, id, "say hi");
  const headers = { "x-request-id": "mine.1" };
  for (const asked of [headers, {}]) {
    const refused = await here.call("POST", `/sessions/${id}/turns`, { body: { prompt: "say more" }, headers: asked });
    expectError(refused, 429, "limit_reached");
    expect(refused.headers.get("retry-after")).toBe("10");
    expect(refused.body.request_id).toBe(refused.headers.get("x-request-id"));
  }
});

test("a forwarded request arrives unchanged at the other server, also while the session is moving", async () => {
  const moved = [null, JSON.stringify({ error: { code: "session_claimed", name: "SessionError", message: "" } })];
  const [here, there] = await serveTwo(9, moved);
  const { id } = await newSession(there);
  const turn = await here.call("POST", `/sessions/${id}/turns`, { body: { prompt: "say grüße" } });
  expect([turn.status, moved]).toEqual([202, []]);
  await there.sessions.find(id)?.idle();
  expect(there.sessions.find(id)?.conversation.turns[0]).toMatchObject({ result: { success: true } });
  const refused = await here.call("POST", `/sessions/${id}/permissions/perm-0`, { body: { decision: "allow" } });
  expectError(refused, 404, "permission_not_found");
  const body = { dry_run: true };
  const [done, same] = await Promise.all(
    [here, there].map((one) => one.call("POST", `/sessions/${id}/undo`, { body })),
  );
  expect([done?.status, done?.body]).toEqual([200, same?.body]);
});

test("a key finds the session that the other server made, and that server answers", async () => {
  const [one, other] = await serveTwo(9);
  const send = (served: Served, path: string, key: string, body: object) =>
    served.call("POST", path, { body, headers: { "idempotency-key": key } });
  // Each has looked before the other one makes anything.
  for (const served of [one, other]) expect((await send(served, "/session", "first", {})).status).toBe(201);
  const made = await send(one, "/sessions", "second", { prompt: "say a" });
  const again = await send(other, "/sessions", "second", { prompt: "say a" });
  expect([again.status, again.body.session_id]).toEqual([201, made.body.session_id]);
  expectError(await send(other, "/sessions", "second", { prompt: "say b" }), 422, "key_reused");
  expect([one.sessions.live().length, other.sessions.live().length]).toEqual([2, 0]);
});
