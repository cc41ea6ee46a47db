import type { Person } from "@chimera/session";
import { expect, test } from "vitest";
import { digest } from "../src/auth/token.js";
import type { People } from "../src/index.js";
import { type Answer, newSession, serve } from "./fixture.js";

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

test("of 200 clients at once as many get a session as the limit says, to the unit, and others are not held up", async () => {
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

test("turns that run or wait, and prompts of a minute, are counted for whoever sends them", async () => {
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
