// Two servers over one directory of sessions, each asking the other for what it holds.
import { expect, test } from "vitest";
import type { AppDeps } from "../src/index.js";
import { newSession, runTurn, type Served, scratch, serve } from "./fixture.js";
import { expectError } from "./shape.js";

type Peers = NonNullable<AppDeps["peers"]>;
type Answering = Parameters<Peers["serve"]>[0];

async function serveTwo(): Promise<[Served, Served]> {
  const root = scratch();
  const served: Served[] = [];
  const answering: Answering[] = [];
  const peersOf = (at: number): Peers => ({
    ask: async (_id, request) => answering[1 - at]!(request),
    serve: async (handle) => {
      answering[at] = handle;
    },
    isElsewhere: async (id) => served[1 - at]!.sessions.find(id) !== undefined,
    held: async () => new Set(served.flatMap(({ sessions }) => sessions.live().map(({ id }) => id))),
    tokens: { read: async () => null, write: async () => {}, remove: async () => {}, onVoid: () => {} },
  });
  const quotas = { all: { promptsPerMinute: 1 } };
  for (const at of [0, 1]) served.push(await serve({ root, peers: peersOf(at), quotas }));
  return served as [Served, Served];
}

test("what the other server refuses is refused here under one id, and says when to come again", async () => {
  const [here, there] = await serveTwo();
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
