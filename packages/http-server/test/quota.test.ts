import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Person } from "@chimera/session";
import { expect, test } from "vitest";
import { digest } from "../src/auth/token.js";
import type { People } from "../src/index.js";
import { type Answer, eventually, newSession, openStream, runTurn, type Served, scratch, serve } from "./fixture.js";
import { expectError } from "./shape.js";

const ANN: Person = { name: "ann", role: "user" };
const BOB: Person = { name: "bob", role: "user" };
const life = new AbortController().signal;
const people: People = {
  find(presented) {
    const person = [ANN, BOB].find(({ name }) => digest(`token-of-${name}`).equals(presented));
    return person ? { person, life } : null;
  },
  ofProxy: () => null,
};
const of = ({ name }: Person) => `token-of-${name}`;

/** How many answers there were of each status. */
function counted(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

test("of 200 concurrent clients exactly as many get a session as the limit allows, and other requests are not delayed", async () => {
  const served = await serve({ people, quotas: { each: { sessions: 7 }, all: { sessions: 9 } } });
  const make = (token: string) => served.call("POST", "/session", { token, body: {} });
  const answers = await Promise.all(Array.from({ length: 200 }, () => make(of(ANN))));
  expect(counted(answers)).toEqual({ 201: 7, 429: 193 });
  const refused = answers.find(({ status }) => status === 429)!;
  expect([refused.body.error, refused.headers.get("retry-after")]).toEqual(["limit_reached", "10"]);
  expect(counted(await Promise.all(Array.from({ length: 20 }, () => make(of(BOB)))))).toEqual({ 201: 2, 429: 18 });
  expect((await served.call("GET", "/me", { token: of(ANN) })).body).toMatchObject({
    limits: { sessions: 7, turns: null },
    used: { sessions: 7, turns: 0 },
  });
  const [mine] = answers.filter(({ status }) => status === 201);
  await served.call("DELETE", `/session/${mine!.body.session_id}`, { token: of(ANN) });
  expect((await make(of(ANN))).status).toBe(201);
});

test("running and waiting turns, and prompts of a minute, count for their sender", async () => {
  let now = Date.parse("2026-11-18T10:00:00Z");
  const served = await serve({ people, clock: () => now, quotas: { each: { turns: 3, promptsPerMinute: 5 } } });
  const { session_id: id } = (await served.call("POST", "/session", { token: of(ANN), body: {} })).body;
  const send = (prompt: string) => served.call("POST", `/sessions/${id}/turns`, { token: of(ANN), body: { prompt } });
  const answers = await Promise.all(Array.from({ length: 40 }, () => send("wait")));
  expect(counted(answers)).toEqual({ 202: 3, 429: 37 });
  for (let i = 0; i < 3; i++) {
    await served.call("POST", `/sessions/${id}/cancel`, { token: of(ANN) });
    await expect.poll(() => served.sessions.find(id)!.queued).toBe(Math.max(0, 1 - i));
  }
  await served.sessions.find(id)!.idle();
  expect(counted([await send("say a"), await send("say b")])).toEqual({ 202: 2 });
  await served.sessions.find(id)!.idle();
  expect((await send("say c")).body.message).toContain("5 prompts");
  now += 61_000;
  expect((await send("say d")).status).toBe(202);
  // The master is bound by what counts for all, and nothing is set there.
  const own = await newSession(served);
  const many = Array.from({ length: 10 }, () =>
    served.call("POST", `/sessions/${own.id}/turns`, { body: { prompt: "say x" } }),
  );
  expect(counted(await Promise.all(many))).toEqual({ 202: 10 });
});

test("a session whose first prompt is refused is not made, and can be made later with the same key", async () => {
  let now = Date.parse("2026-11-18T10:00:00Z");
  const served = await serve({ people, clock: () => now, quotas: { each: { promptsPerMinute: 1 } } });
  const make = (key: string) =>
    served.call("POST", "/sessions", {
      token: of(ANN),
      headers: { "idempotency-key": key },
      body: { prompt: "say a" },
    });
  expect([(await make("one")).status, (await make("two")).status]).toEqual([201, 429]);
  expect((await served.call("GET", "/me", { token: of(ANN) })).body.used).toMatchObject({ sessions: 1 });
  expect((await served.sessions.list()).sessions).toHaveLength(1);
  now += 61_000;
  expect((await make("two")).status).toBe(201);
});

test("a refused first prompt or setting leaves no session", async () => {
  const served = await serve({ quotas: { all: { turns: 1 } } });
  const made: string[] = [];
  served.sessions.onLoad(({ id }) => void made.push(id));
  const start = (body: object) => served.call("POST", "/sessions", { body: { prompt: "wait", ...body } });
  const run = () =>
    served.call("POST", "/runs", {
      body: {
        agent_name: "otter",
        input: [{ role: "user", parts: [{ content_type: "text/plain", content: "wait" }] }],
        mode: "async",
      },
    });
  const unknown = { options: { "engine:zzz": true } };
  expectError(await start(unknown), 400, "invalid_setting");
  expectError(await served.call("POST", "/session", { body: unknown }), 400, "invalid_setting");
  const atOnce = await Promise.all(Array.from({ length: 10 }, () => start({})));
  expect(counted(atOnce)).toEqual({ 201: 1, 429: 9 });
  const { session_id } = atOnce.find(({ status }) => status === 201)!.body;
  const before = made.length;
  expect(counted([await start({}), await start({}), await run()])).toEqual({ 429: 3 });
  expect(made).toHaveLength(before);
  expect(served.sessions.live().map(({ id }) => id)).toEqual([session_id]);
  expect(made.filter((id) => id !== session_id)).not.toEqual([]);
  for (const id of made) expect([id, await served.store.has(id)]).toEqual([id, id === session_id]);
});

test("the day's dollars end prompts with 402 until the next day", async () => {
  let now = Date.parse("2026-11-18T23:00:00Z");
  const served = await serve({ people, clock: () => now, quotas: { each: { usdPerDay: 1 } } });
  const { session_id: id } = (await served.call("POST", "/session", { token: of(ANN), body: {} })).body;
  const send = (prompt: string) => served.call("POST", `/sessions/${id}/turns`, { token: of(ANN), body: { prompt } });
  expect((await send("say one")).status).toBe(202);
  await served.sessions.find(id)!.idle();
  const usage = { input: 1, output: 1, cache: 0, reasoning: 0, total_usd: 1.5, priced: true, used: 1, size: 100 };
  await served.sessions.find(id)!.record({ type: "usage", metadata: usage });
  expect((await send("say two")).body).toMatchObject({ error: "budget_spent" });
  expect((await send("say two")).status).toBe(402);
  expect((await served.call("GET", "/me", { token: of(ANN) })).body.used.usd_per_day).toBe(1.5);
  now += 2 * 60 * 60 * 1000;
  expect((await send("say three")).status).toBe(202);
});

test("of 200 concurrent clients exactly as many get a stream as the limit allows; a session's token counts for its owner", async () => {
  const served = await serve({ people, quotas: { each: { streams: 7 }, all: { streams: 9 } } });
  const open = (token: string, path = "/events?list=true") =>
    openStream(served, path, { authorization: `Bearer ${token}` });
  const { body } = await served.call("POST", "/session", { token: of(ANN), body: {} });
  const own = await open(body.session_token, `/session/${body.session_id}/events`);
  const streams = await Promise.all(Array.from({ length: 200 }, () => open(of(ANN))));
  const statuses = streams.map(({ response }) => response.status);
  expect([statuses.filter((one) => one === 200).length, statuses.filter((one) => one === 429).length]).toEqual([
    6, 194,
  ]);
  const refused = streams.find(({ response }) => response.status === 429)!;
  await refused.ended;
  expect(refused.response.headers.get("retry-after")).toBe("10");
  expect(JSON.parse(refused.raw())).toMatchObject({
    error: "limit_reached",
    message: expect.stringContaining("7 streams"),
  });
  const others = await Promise.all(Array.from({ length: 20 }, () => open(of(BOB))));
  expect(others.filter(({ response }) => response.status === 200)).toHaveLength(2);
  expect((await served.call("GET", "/me", { token: of(ANN) })).body).toMatchObject({
    limits: { streams: 7 },
    used: { streams: 7 },
  });
  const { text } = await served.call("GET", "/metrics");
  expect(text).toMatch(/^otter_limit\{limit="streams",whose="each"\} 7$/m);
  expect(text).toMatch(/^otter_limit_used\{limit="streams"\} 9$/m);
  expect(text).toMatch(/^otter_limit_refusals_total\{limit="streams",whose="each"\} 194$/m);
  expect(text).toMatch(/^otter_limit_refusals_total\{limit="streams",whose="all"\} 18$/m);
  own.leave();
  await eventually(() => served.sessions.quota.use("ann").streams === 6);
  expect((await open(of(ANN))).response.status).toBe(200);
});

/** The bytes of a session's log and snapshots below a root. */
function bytesIn(root: string, id: string): number {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).filter((path) => path.includes(id));
  return paths.reduce((sum, path) => sum + statSync(path).size, 0);
}

async function serveBounded(root: string, diskBytes: number): Promise<Served> {
  const files = { bytes: async (id: string) => bytesIn(root, id), remove: async () => {} };
  return serve({ people, root, files, quotas: { each: { diskBytes }, all: { diskBytes: diskBytes * 10 } } });
}

test("bytes on disk are those of the files; of 200 concurrent prompts exactly as many are accepted as fit", async () => {
  const root = scratch();
  const first = await serveBounded(root, 1e9);
  const { session_id: id } = (await first.call("POST", "/session", { token: of(ANN), body: {} })).body;
  await runTurn(first, id, `say ${"x".repeat(5000)}`);
  await eventually(() => first.sessions.quota.use("ann").diskBytes === bytesIn(root, id));
  await first.stop();

  // Measured again when the next server starts.
  const text = "wait".padEnd(1000, " ");
  const size = JSON.stringify({ text }).length;
  const used = bytesIn(root, id);
  const second = await serveBounded(root, used + 3 * size + 17);
  const send = () => second.call("POST", `/sessions/${id}/turns`, { token: of(ANN), body: { prompt: text } });
  expect(counted(await Promise.all(Array.from({ length: 60 }, send)))).toEqual({ 202: 3, 429: 57 });
  expect((await send()).body.message).toMatch(/bytes are on disk, .*delete sessions/);
  const me = (await second.call("GET", "/me", { token: of(ANN) })).body;
  expect(me.limits.disk_bytes).toBe(used + 3 * size + 17);
  expect(me.used.disk_bytes).toBeGreaterThanOrEqual(used + 3 * size);
  expect((await second.call("POST", `/sessions/${id}/fork`, { token: of(ANN), body: {} })).body.error).toBe(
    "limit_reached",
  );
  await second.call("DELETE", `/sessions/${id}`, { token: of(ANN) });
  expect(second.sessions.quota.use("ann").diskBytes).toBe(0);
  expect((await second.call("POST", "/session", { token: of(ANN), body: {} })).status).toBe(201);
});

test("dollars and sessions of the other servers of a shared store count too, within a moment", async () => {
  const root = scratch();
  let held = 0;
  const quotas = { each: { usdPerDay: 2, sessions: 2 } };
  const open = () => serve({ people, root, quotas, elsewhere: async () => [[ANN.name, held]] });
  const [one, other] = [await open(), await open()];
  const make = async (served: Served) =>
    (await served.call("POST", "/session", { token: of(ANN), body: {} })).body.session_id as string;
  const [first, second] = [await make(one), await make(other)];
  const spend = async (total_usd: number) => {
    const usage = { input: 1, output: 1, cache: 0, reasoning: 0, total_usd, priced: true, used: 1, size: 100 };
    await one.sessions.find(first)!.record({ type: "usage", metadata: usage });
    // A change that lists show: the summary is written soon.
    await one.sessions.find(first)!.setTitle(`it cost ${total_usd}`);
  };
  const send = () => other.call("POST", `/sessions/${second}/turns`, { token: of(ANN), body: { prompt: "say hi" } });
  const used = async () => {
    await other.sessions.load(second);
    return other.sessions.quota.use(ANN.name);
  };
  // Today's cost of an unknown session is read from its log; the new cost of a known one comes from its summary.
  await spend(1.5);
  await expect.poll(async () => (await used()).usdPerDay, { timeout: 10_000 }).toBe(1.5);
  expect((await send()).status).toBe(202);
  await spend(2.25);
  await expect.poll(async () => (await used()).usdPerDay, { timeout: 10_000 }).toBe(2.25);
  expect((await send()).body.error).toBe("budget_spent");
  held = 1;
  await expect.poll(async () => (await used()).sessions, { timeout: 10_000 }).toBe(2);
  expect((await other.call("POST", "/session", { token: of(ANN), body: {} })).status).toBe(429);
  held = 0;
  await expect.poll(async () => (await used()).sessions, { timeout: 10_000 }).toBe(1);
  expect((await other.call("POST", "/session", { token: of(ANN), body: {} })).status).toBe(201);
});

test("today's spending is known after a restart, from the logs; the copied turns of a fork do not count twice", async () => {
  let now = Date.parse("2026-11-18T10:00:00Z");
  const root = scratch();
  const open = () => serve({ people, root, clock: () => now, quotas: { each: { usdPerDay: 2 } } });
  const spend = async (served: Served, id: string, total_usd: number) => {
    const usage = { input: 1, output: 1, cache: 0, reasoning: 0, total_usd, priced: true, used: 1, size: 100 };
    await served.sessions.find(id)!.record({ type: "usage", metadata: usage });
  };
  const usedOf = async (served: Served) =>
    (await served.call("GET", "/me", { token: of(ANN) })).body.used.usd_per_day as number;
  const make = async (served: Served) => {
    const { session_id: id } = (await served.call("POST", "/session", { token: of(ANN), body: {} })).body;
    await runTurn(served, id, "say hi");
    return id as string;
  };

  now -= 86_400_000;
  const yesterday = await open();
  const old = await make(yesterday);
  await spend(yesterday, old, 5);
  await yesterday.stop();

  now += 86_400_000;
  const first = await open();
  await first.sessions.load(old);
  await spend(first, old, 5.5);
  const young = await make(first);
  await spend(first, young, 0.75);
  const copied = await first.call("POST", `/sessions/${young}/fork`, { token: of(ANN), body: {} });
  expect(copied.status).toBe(201);
  expect(await usedOf(first)).toBe(1.25);
  await first.stop();

  const second = await open();
  await second.sessions.load(young);
  expect(await usedOf(second)).toBe(1.25);
  await spend(second, young, 1.5);
  expect(await usedOf(second)).toBe(2);
  const prompt = { token: of(ANN), body: { prompt: "say more" } };
  expect((await second.call("POST", `/sessions/${young}/turns`, prompt)).status).toBe(402);
  now += 86_400_000;
  expect((await second.call("POST", `/sessions/${young}/turns`, prompt)).status).toBe(202);
});
