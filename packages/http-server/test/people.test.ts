import { randomBytes } from "node:crypto";
import { type Route, type RouteName, routes } from "@chimera/acp-schema/http";
import type { Person } from "@chimera/session";
import * as v from "valibot";
import { expect, test } from "vitest";
import { digest } from "../src/auth/token.js";
import type { People } from "../src/index.js";
import { eventually, openStream, runTurn, type Served, serve } from "./fixture.js";

const names = Object.keys(routes) as RouteName[];

/** People with tokens, as a program would keep them. */
function peopleOf(...all: readonly Person[]) {
  const tokens = new Map(all.map((person) => [person.name, randomBytes(16).toString("hex")]));
  const lives = new Map(all.map(({ name }) => [name, new AbortController()]));
  const people: People = {
    find(presented) {
      const person = all.find(({ name }) => digest(tokens.get(name)!).equals(presented));
      const life = person && lives.get(person.name)!.signal;
      return person && life && !life.aborted ? { person, life } : null;
    },
    ofProxy: () => null,
  };
  return { people, token: (name: string) => tokens.get(name)!, revoke: (name: string) => lives.get(name)!.abort() };
}

const ANN: Person = { name: "ann", role: "user" };
const BOB: Person = { name: "bob", role: "user" };
const VERA: Person = { name: "vera", role: "viewer" };
const ADA: Person = { name: "ada", role: "admin" };

async function serveAll() {
  const { people, token, revoke } = peopleOf(ANN, BOB, VERA, ADA);
  return { served: await serve({ people }), token, revoke };
}

/** A session with a turn that wrote a file. */
async function sessionOf(served: Served, token: string): Promise<{ id: string; token: string }> {
  const { body, status } = await served.call("POST", "/session", { token, body: {} });
  expect(status).toBe(201);
  await runTurn(served, body.session_id, "write secret.txt of-the-owner");
  return { id: body.session_id, token: body.session_token };
}

/** Bodies that a route would accept, so that only who calls can be a reason to refuse. Others get `{}`. */
const BODIES: Partial<Record<RouteName, unknown>> = {
  "POST /sessions/{id}/turns": { prompt: "say hi" },
  "POST /session/{id}/message": { text: "say hi" },
  "POST /sessions/{id}/title": { title: "taken" },
  "PATCH /sessions/{id}": { title: "taken" },
  "POST /sessions/{id}/permissions/{pid}": { decision: "allow" },
  "POST /sessions/{id}/questions/{qid}": { answer: "mine" },
  "POST /sessions/{id}/share": { sink: "stdout" },
  "POST /sessions": { prompt: "say hi" },
  "POST /tool/approve": { session_id: "unknown", permission_id: "perm-1", approved: true },
  "POST /commands/{name}/invoke": { session_id: "unknown" },
  "POST /runs": { agent_name: "otter", input: [{ role: "user", parts: [{ content: "say hi" }] }] },
};

function requestOf(name: RouteName, id: string): [method: string, path: string, body: unknown] {
  const [method = "", path = ""] = name.split(" ");
  const filled = path.replace(/\{(id|run_id)\}/, id).replace("{token_id}", "none");
  const body = method === "GET" || method === "DELETE" ? undefined : (BODIES[name] ?? {});
  const { body: shape } = routes[name] as Route;
  // A body that is refused anyway would prove nothing about the caller: a route that needs one has a row in BODIES.
  expect([name, "body", !shape || v.is(shape, body)]).toEqual([name, "body", true]);
  return [method, filled.replace(/\{\w+\}/g, "unknown"), body];
}

test("a session does not exist for another user, on any route", async () => {
  const { served, token } = await serveAll();
  const theirs = await sessionOf(served, token("ann"));
  const before = served.sessions.find(theirs.id)!.lastSeq;
  const about = names.filter((name) => /\{(id|run_id)\}/.test(name));
  expect(about.length).toBeGreaterThan(25);
  for (const name of about) {
    const [method, path, body] = requestOf(name, theirs.id);
    const answer = await served.call(method, path, { token: token("bob"), ...(body !== undefined && { body }) });
    expect([name, answer.status]).toEqual([name, 404]);
    expect(answer.text).not.toContain("of-the-owner");
  }
  for (const [path, body] of [
    ["/tool/approve", { session_id: theirs.id, permission_id: "perm-1", approved: true }],
    ["/commands/none/invoke", { session_id: theirs.id }],
  ] as const) {
    expect((await served.call("POST", path, { token: token("bob"), body })).body.error).toBe("session_not_found");
  }
  const many = await served.call("GET", `/events?session=${theirs.id}`, { token: token("bob") });
  expect(many.status).toBe(404);
  expect(served.sessions.find(theirs.id)!.lastSeq).toBe(before);
});

test("it is in no list, search, report or stream of another user", async () => {
  const { served, token } = await serveAll();
  const watching = await openStream(served, "/events?list=true", { authorization: `Bearer ${token("bob")}` });
  const theirs = await sessionOf(served, token("ann"));
  const mine = await sessionOf(served, token("bob"));
  const unnamed = names.filter((name) => name.startsWith("GET") && !name.includes("{") && !("stream" in routes[name]));
  for (const name of unnamed) {
    const query = name === "GET /search" ? "?q=of-the-owner" : "";
    const { text } = await served.call("GET", `${name.slice(4)}${query}`, { token: token("bob") });
    expect([name, text.includes(theirs.id)]).toEqual([name, false]);
  }
  for (const path of ["/sessions", "/session", "/runs", "/search?q=of-the-owner"]) {
    expect((await served.call("GET", path, { token: token("bob") })).text).toContain(mine.id);
  }
  await served.call("POST", `/sessions/${mine.id}/turns`, { token: token("bob"), body: { prompt: "/sessions" } });
  await served.sessions.find(mine.id)!.idle();
  const told = (await served.call("GET", `/sessions/${mine.id}`, { token: token("bob") })).text;
  expect(told).toContain("agent_result");
  expect(told).not.toContain(theirs.id);

  await served.call("DELETE", `/sessions/${theirs.id}`, { token: token("ann") });
  await served.call("DELETE", `/sessions/${mine.id}`, { token: token("bob") });
  await watching.until((frames) => frames.some(({ data }) => data?.session_id === mine.id && data.row === null));
  expect(watching.raw()).not.toContain(theirs.id);
});

test("a session that is deleted while somebody searches is left out, and the others are found", async () => {
  const { people, token } = peopleOf(ANN);
  const made = await serve({ people });
  const { sessions } = made;
  const [gone, kept] = [await sessionOf(made, token("ann")), await sessionOf(made, token("ann"))];
  const list: typeof sessions.list = async (options) => {
    const page = await sessions.list(options);
    await sessions.delete(gone.id);
    return page;
  };
  const served = await serve({ people, sessions: { ...sessions, list } });
  const answer = await served.call("GET", "/search?q=of-the-owner", { token: token("ann") });
  expect(answer.body).toMatchObject({ searched: 2, hits: [{ session_id: kept.id }] });
});

test("the owner is in the list, the name is in the log, and the same key of two people makes two sessions", async () => {
  const { served, token } = await serveAll();
  const { id } = await sessionOf(served, token("ann"));
  await served.call("POST", `/sessions/${id}/turns`, { token: token("ann"), body: { prompt: "say signed" } });
  await served.sessions.find(id)!.idle();
  const { body } = await served.call("GET", `/sessions/${id}`, { token: token("ann") });
  expect(body.summary.owner).toBe("ann");
  const prompt = body.events.find((record: { metadata: { text?: string } }) => record.metadata.text === "say signed");
  expect(prompt).toMatchObject({ type: "user_message", origin: "ann" });
  const listed = (await served.call("GET", "/sessions")).body.sessions;
  expect(listed).toMatchObject([{ session_id: id, owner: "ann", shared: false }]);

  const start = async (name: string) => {
    const headers = { "idempotency-key": "the-same" };
    return (await served.call("POST", "/sessions", { token: token(name), headers, body: { prompt: "say hi" } })).body;
  };
  const [first, second, again] = [await start("ann"), await start("bob"), await start("ann")];
  expect(first.session_id).not.toBe(second.session_id);
  expect(again.session_id).toBe(first.session_id);
});

test("a shared session can be read by others and changed only by its owner; unsharing it ends their streams", async () => {
  const { served, token } = await serveAll();
  const { id } = await sessionOf(served, token("ann"));
  const share = (shared: boolean) => served.call("PATCH", `/sessions/${id}`, { token: token("ann"), body: { shared } });
  expect((await share(true)).body).toMatchObject({ owner: "ann", shared: true });
  for (const name of names.filter((one) => one.includes("{id}"))) {
    const [method, path, body] = requestOf(name, id);
    if ("stream" in routes[name]) continue;
    const { status, body: answer } = await served.call(method, path, {
      token: token("bob"),
      ...(body !== undefined && { body }),
    });
    const isRead = method === "GET" && routes[name].tier === "session" && !path.includes("/unknown/");
    if (isRead) expect([name, status]).toEqual([name, 200]);
    else
      expect([name, [403, 404].includes(status), answer.error]).toEqual([
        name,
        true,
        status === 403 ? "read_only" : answer.error,
      ]);
  }
  expect((await served.call("GET", "/sessions", { token: token("bob") })).text).toContain(id);
  const bearer = { authorization: `Bearer ${token("bob")}` };
  const one = await openStream(served, `/session/${id}/events`, bearer);
  const many = await openStream(served, `/events?session=${id}`, bearer);
  const owner = await openStream(served, `/session/${id}/events`, { authorization: `Bearer ${token("ann")}` });
  await many.until((frames) => frames.length > 0);
  await share(false);
  await one.ended;
  await served.call("POST", `/sessions/${id}/turns`, { token: token("ann"), body: { prompt: "say in-private" } });
  await owner.until((frames) => frames.some(({ event, data }) => event === "result" && data));
  await eventually(() => owner.raw().includes("in-private"));
  expect(one.raw()).not.toContain("in-private");
  expect(many.raw()).not.toContain("in-private");
  expect((await served.call("GET", `/sessions/${id}`, { token: token("bob") })).status).toBe(404);
});

test("a stream of the list shows a loaded session when it is shared with its reader, and takes it away when it no longer is", async () => {
  const { served, token } = await serveAll();
  const [one, other] = [await sessionOf(served, token("ann")), await sessionOf(served, token("ann"))];
  const change = (id: string, body: object) => served.call("PATCH", `/sessions/${id}`, { token: token("ann"), body });
  await change(other.id, { shared: true });
  const watching = await openStream(served, "/events?list=true", { authorization: `Bearer ${token("bob")}` });
  const rowsOf = (id: string) =>
    watching.frames.filter(({ data }) => data.session_id === id).map(({ data }) => data.row);
  await change(one.id, { shared: true });
  await watching.until(() => rowsOf(one.id).at(-1)?.shared === true);
  expect(rowsOf(one.id).at(-1)).toMatchObject({ owner: "ann", state: "live" });
  await change(one.id, { title: "seen" });
  await watching.until(() => rowsOf(one.id).at(-1)?.title === "seen");
  for (const { id } of [one, other]) {
    await change(id, { shared: false });
    await watching.until(() => rowsOf(id).at(-1) === null);
    await change(id, { title: "unseen" });
    await served.sessions.close(id);
  }
  // What is sent after it.
  const mine = await sessionOf(served, token("bob"));
  await watching.until(() => rowsOf(mine.id).length > 0);
  expect(watching.raw()).not.toContain("unseen");
  expect([one, other].map(({ id }) => rowsOf(id).at(-1))).toEqual([null, null]);
});

test("a viewer reads every session and changes none; an admin has the rights of the master", async () => {
  const { served, token } = await serveAll();
  const { id } = await sessionOf(served, token("ann"));
  expect((await served.call("GET", `/sessions/${id}`, { token: token("vera") })).status).toBe(200);
  for (const name of names.filter((one) => !one.startsWith("GET") && !one.includes("/page/"))) {
    const [method, path, body] = requestOf(name, id);
    const { status } = await served.call(method, path, { token: token("vera"), ...(body !== undefined && { body }) });
    // ACP needs a connection first. test/two-people.test.ts tests the rights of a person over ACP.
    const refusals = name.endsWith("/acp") ? [400] : [403, 404];
    expect([name, refusals.includes(status), status]).toEqual([name, true, status]);
  }
  expect((await served.call("POST", "/session", { token: token("vera"), body: {} })).body.error).toBe("read_only");
  expect((await served.call("GET", `/sessions/${id}/files`, { token: token("vera") })).body.error).toBe("read_only");
  expect(served.sessions.live()).toHaveLength(1);
  const renamed = await served.call("POST", `/sessions/${id}/title`, {
    token: token("ada"),
    body: { title: "by ada" },
  });
  expect(renamed.status).toBe(200);
  expect((await served.call("GET", `/sessions/${id}`, { token: token("ann") })).text).toContain('"origin":"ada"');
  expect((await served.call("GET", "/me", { token: token("vera") })).body).toMatchObject({
    name: "vera",
    role: "viewer",
    by: "user",
  });
  expect((await served.call("GET", "/me")).body).toMatchObject({ name: null, role: "admin", by: "master" });
});

test("a revoked token is refused at once, and its streams, pages and session tokens end", async () => {
  const { served, token, revoke } = await serveAll();
  const made = await sessionOf(served, token("ann"));
  const { code } = (await served.call("POST", "/page/codes", { token: token("ann") })).body;
  const page = (await served.call("POST", "/page/tokens", { token: null, body: { code } })).body;
  expect((await served.call("GET", "/me", { token: page.token })).body).toMatchObject({
    name: "ann",
    role: "user",
    by: "page",
  });
  expect((await served.call("GET", "/page/tokens", { token: token("bob") })).body.tokens).toEqual([]);
  expect((await served.call("DELETE", `/page/tokens/${page.id}`, { token: token("bob") })).status).toBe(404);
  const streams = await Promise.all(
    [token("ann"), page.token, made.token].map((each) =>
      openStream(served, `/session/${made.id}/events`, { authorization: `Bearer ${each}` }),
    ),
  );
  const master = await openStream(served, `/session/${made.id}/events`);
  const streamed = await fetch(`${served.url}/runs`, {
    method: "POST",
    headers: { authorization: `Bearer ${token("ann")}`, "content-type": "application/json" },
    body: JSON.stringify({
      agent_name: "otter",
      mode: "stream",
      input: [{ role: "user", parts: [{ content: "wait" }] }],
    }),
  });
  expect(streamed.status).toBe(200);
  revoke("ann");
  await streamed.text().catch(() => "cut");
  await Promise.all(streams.map(({ ended }) => ended));
  for (const each of [token("ann"), page.token, made.token]) {
    expect((await served.call("GET", `/session/${made.id}`, { token: each })).status).toBe(401);
  }
  await served.call("POST", `/session/${made.id}/message`, { body: { text: "say still here" } });
  await master.until((frames) => frames.some(({ event }) => event === "result"));
});

test("with people and without a master token, every request needs a token", async () => {
  const { people, token } = peopleOf(ANN);
  const served = await serve({ people, authToken: undefined as never });
  expect((await served.call("GET", "/sessions", { token: null })).status).toBe(401);
  expect((await served.call("GET", "/sessions", { token: token("ann") })).status).toBe(200);
});

test("a person who speaks ACP is served as themselves, and cut off when their token is revoked", async () => {
  const { people, token, revoke } = peopleOf(ANN, BOB);
  const served = new Set<string | undefined>();
  const closed: string[] = [];
  const app = await serve({
    people,
    acp: ({ person, channel }) => {
      served.add(person?.name);
      let end = () => {};
      const gone = new Promise<void>((resolve) => {
        end = resolve;
      });
      channel.onLine((line) => {
        const { id } = JSON.parse(String(line)) as { id: number };
        channel.send(JSON.stringify({ jsonrpc: "2.0", id, result: {} }));
      });
      const close = async () => {
        closed.push(person?.name ?? "");
        end();
      };
      return { closed: gone, close, rewind: () => {} };
    },
  });
  const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params: {} };
  const hello = (name: string) => app.call("POST", "/acp", { token: token(name), body: initialize });
  const mine = await hello("ann");
  expect([mine.status, served]).toEqual([200, new Set(["ann"])]);
  const connection = { "acp-connection-id": mine.headers.get("acp-connection-id")! };
  const message = { jsonrpc: "2.0", id: 2, method: "session/list", params: {} };
  const asBob = await app.call("POST", "/acp", { token: token("bob"), headers: connection, body: message });
  expect(asBob.body.error).toBe("connection_not_found");
  revoke("ann");
  const headers = { host: "localhost", authorization: `Bearer ${token("bob")}`, "content-type": "application/json" };
  const opening = app.app.request("/acp", { method: "POST", headers, body: JSON.stringify(initialize) });
  // Bob was let in, and the message that opens his connection is still being read.
  revoke("bob");
  await opening;
  await eventually(() => closed.includes("ann") && closed.includes("bob"));
});
