// Sessions that another process on the same home has: listed, looked into and streamed from here, though only it can change them.
import { expect, test } from "vitest";
import { eventually, newSession, openStream, runTurn, scratch, serve } from "./fixture.js";
import { expectError, expectReply } from "./shape.js";

async function twoServers(options: Parameters<typeof serve>[0] = {}) {
  const root = scratch();
  const there = await serve({ root, ...options });
  const here = await serve({ root, ...options, defaultCwd: there.cwd });
  return { there, here };
}

test("the settings, changes, snapshots and size of another process's session can be read", async () => {
  const { there, here } = await twoServers();
  const { id } = await newSession(there);
  await runTurn(there, id, "write a.txt one");
  expectError(await here.call("POST", `/sessions/${id}/turns`, { body: { prompt: "say hi" } }), 409, "session_claimed");
  for (const path of ["settings", "changes?diff=true", "snapshots", "permissions"]) {
    const [own, other] = [
      await there.call("GET", `/sessions/${id}/${path}`),
      await here.call("GET", `/sessions/${id}/${path}`),
    ];
    expect([path, other.status, other.body]).toEqual([path, 200, own.body]);
  }
  const { snap_id } = (await here.call("GET", `/sessions/${id}/snapshots`)).body.snapshots[0];
  const diff = await here.call("GET", `/sessions/${id}/snapshots/${snap_id}/diff`);
  expectReply("GET /sessions/{id}/snapshots/{snap}/diff", diff);
  expect(diff.body.files).toMatchObject([{ change: "add", diff: expect.stringContaining("+one") }]);
  expectError(await here.call("GET", `/sessions/${id}/snapshots/snap-9-9/diff`), 404, "snapshot_not_found");
  const dry = (one: typeof here) => one.call("DELETE", `/sessions/${id}?dry_run=true`);
  expect((await dry(here)).body).toEqual((await dry(there)).body);
  expect((await dry(here)).body).toMatchObject({ turns: 1, snapshots: 1 });
  await there.sessions.tearDown(id);
  expect((await dry(here)).body).toMatchObject({ turns: 1, snapshots: 0 });
});

test("the list shows the questions of another process's session, and a stream of the list shows its changes", async () => {
  const { there, here } = await twoServers();
  const { id: older } = await newSession(there);
  await runTurn(there, older, "say hi");
  await eventually(async () => (await here.call("GET", "/sessions")).body.sessions[0]?.title === "hi");
  const stream = await openStream(here, "/events?list=true");
  const { id } = await newSession(there);
  const rowsOf = (one: string) =>
    stream.frames.filter(({ data }) => data.session_id === one).map(({ data }) => data.row);
  await there.call("POST", `/sessions/${id}/turns`, { body: { prompt: "ask" } });
  await stream.until(() => rowsOf(id).some((row) => row?.permissions.length > 0));
  const asked = [{ tool: "Bash", args: { command: "make" } }];
  expect(rowsOf(id).at(-1)).toMatchObject({ status: "waiting", permissions: asked });
  const listed = await here.call("GET", "/sessions");
  expectReply("GET /sessions", listed);
  expect(listed.body.sessions[0]).toMatchObject({ session_id: id, status: "waiting", permissions: asked });
  const [{ permission_id }] = listed.body.sessions[0].permissions;
  await there.call("POST", `/sessions/${id}/permissions/${permission_id}`, { body: { decision: "allow" } });
  await stream.until(() => rowsOf(id).at(-1)?.status === "idle");
  expect(rowsOf(id).at(-1).permissions).toEqual([]);
  await there.call("DELETE", `/sessions/${id}`);
  await stream.until(() => rowsOf(id).at(-1) === null);
  // Unchanged rows were not sent.
  expect(rowsOf(older)).toEqual([]);
  stream.leave();
  await eventually(async () => (await here.connections()) === 0);
});

test("a session's token and its streams outlive that another process went on with the session, and end with it later", async () => {
  const { there, here } = await twoServers({ hold: 0.1 });
  const { id, token } = await newSession(here);
  await runTurn(here, id, "say one");
  const bearer = { authorization: `Bearer ${token}` };
  const stream = await openStream(here, `/sessions/${id}/events?until=never`, bearer);
  for (const [one, text] of [
    [there, "two"],
    [here, "three"],
  ] as const) {
    // The other one lets the session go when it has been idle.
    const body = { prompt: `say ${text}` };
    await eventually(async () => (await one.call("POST", `/sessions/${id}/turns`, { body })).status === 202);
    await stream.until((frames) => frames.some(({ data }) => data.metadata?.output === text));
  }
  expect((await here.call("GET", `/sessions/${id}`, { token })).status).toBe(200);
  await here.sessions.close(id);
  await stream.ended;
  expect((await here.call("GET", `/sessions/${id}`, { token })).status).toBe(401);
});

test("the token of a session that was let go ends when the session is evicted and nobody went on with it", async () => {
  let now = 0;
  const { here } = await twoServers({ hold: 0.1, ttl: 60, monotonic: () => now });
  const { id, token } = await newSession(here);
  await runTurn(here, id, "say one");
  now += 1000;
  await eventually(() => here.sessions.find(id) === undefined);
  expect((await here.call("GET", `/sessions/${id}/events`, { token })).status).toBe(200);
  now += 61_000;
  here.sessions.evictIdle();
  await eventually(() => here.sessions.live().length === 0);
  await eventually(async () => (await here.call("GET", `/sessions/${id}`, { token })).status === 401);
});
